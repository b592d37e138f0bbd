"""Sensors and their templates, ready for stamping; and how a sensor is written on coincide.sensors."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from coincide import Histogram, Stream
from coincide.errors import HistogramError
from services.ingest.stamping.verdicts import Reason, Refused

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
    def from_record(cls, value: bytes) -> Self:
        """Read what `to_record` wrote; raises `SensorError`."""
        try:
            record = _decode(value)
            streams = {name: Histogram.from_json(template) for name, template in record.streams.items()}
        except (msgspec.MsgspecError, HistogramError, UnicodeDecodeError, RecursionError) as error:
            raise SensorError(f"not a sensor record: {error}") from error
        return cls(record.sensor, record.area, MappingProxyType(streams))


NAME_CHARACTERS = 128

#: Of a sensor, an area or a stream, where they are registered.
Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARACTERS, pattern=r"^[^\x00-\x1f\x7f]+$")]


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    v: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    sensor: Name
    area: Name
    streams: Annotated[dict[Name, dict[str, Any]], Meta(min_length=1)]


_decode = msgspec.json.Decoder(_Record).decode


MOST_BUCKETS = 64
FURTHEST_REACH_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Template:
    """A histogram of (occurrence - detected_at), its closed bounds in whole microseconds and its JSON on the wire."""

    histogram: Histogram
    id: str
    earliest_us: int
    latest_us: int
    json: msgspec.Raw

    @classmethod
    def of(cls, histogram: Histogram) -> Self:
        """Return the template of `histogram`."""
        wire = msgspec.Raw(msgspec.json.encode(histogram.to_json()))
        return cls(histogram, histogram.id, histogram.earliest_us, histogram.latest_us, wire)


def refuse_unfit_template(histogram: Histogram, stream: Stream, field: str) -> None:
    """Refuse (`template_too_long`) what the stream's declaration, and so every buffer's retention, has no room for."""
    if histogram.length_s > stream.longest_template_s:
        allowed = f"at most {stream.longest_template_s:g} s for stream {stream.name}, as declared"
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, histogram.length_s, allowed)
    if len(histogram.mass) > MOST_BUCKETS:
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, len(histogram.mass), f"at most {MOST_BUCKETS} buckets")
    reach_s = max(-histogram.earliest_s, histogram.latest_s)
    if reach_s > FURTHEST_REACH_S:
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, reach_s, f"within {FURTHEST_REACH_S:g} s of detected_at")
