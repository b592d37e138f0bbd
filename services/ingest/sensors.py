"""Sensors: who may report what, and with which template; and how one is written on coincide.sensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from coincide import Histogram, HistogramError

VERSION = 1


class SensorError(ValueError):
    """A sensor that cannot be used; the message says which field, its value and what is allowed."""


@dataclass(frozen=True)
class Sensor:
    """A sensor: the area it stands in and, for each stream it reports, its template."""

    id: str
    area: str
    streams: Mapping[str, Histogram]

    def to_record(self) -> bytes:
        """Return the value of this sensor's record on coincide.sensors, the same bytes for equal sensors."""
        streams = {name: self.streams[name].to_json() for name in sorted(self.streams)}
        return msgspec.json.encode({"v": VERSION, "sensor": self.id, "area": self.area, "streams": streams})

    @classmethod
    def from_record(cls, value: bytes) -> Sensor:
        """Read what `to_record` wrote; raises `SensorError`."""
        try:
            record = _decode(value)
            streams = {name: Histogram.from_json(template) for name, template in record.streams.items()}
        except (msgspec.MsgspecError, HistogramError, UnicodeDecodeError, RecursionError) as error:
            raise SensorError(f"not a sensor record: {error}") from error
        return cls(record.sensor, record.area, MappingProxyType(streams))


Name = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    v: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    sensor: Name
    area: Name
    streams: Annotated[dict[Name, dict[str, Any]], Meta(min_length=1)]


_decode = msgspec.json.Decoder(_Record).decode
