"""Templates that have a name: coincide.templates, a compacted topic of one partition, keyed by the name.

A sensor's record has its templates in full, and beside them the names of those that have one. So whoever follows the
sensors needs no templates, and to change a template is to change the sensors that name it.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Self, TypeVar

import msgspec
from msgspec import Raw, structs

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.wire.declarations.sensor_record import TemplateRecord
from coincide.wire.last_change import UNKNOWN_CHANGE, LastChange
from services.common.log.records import Record
from services.common.resources.resource import action
from services.ingest.registry.sensors import Sensor, histogram_in

TEMPLATES = "templates"
VERSION: Final = 1

log = logging.getLogger(__name__)


class TemplateError(ValueError):
    """A record that is no template; the message says why."""


_decode = msgspec.json.Decoder(TemplateRecord).decode


@dataclass(frozen=True)
class NamedTemplate:
    """A template under its name; equal if both are, whichever change brought it about."""

    name: str
    histogram: Histogram
    change: LastChange = field(default=UNKNOWN_CHANGE, compare=False)

    def to_record(self) -> bytes:
        """Return the value of its record, the same bytes for equal templates."""
        histogram = Raw(msgspec.json.encode(self.histogram.to_json()))
        record = TemplateRecord(v=VERSION, template=self.name, histogram=histogram, **structs.asdict(self.change))
        return msgspec.json.encode(record)

    @classmethod
    def from_record(cls, key: bytes, value: bytes) -> Self:
        """Read what `to_record` wrote; raises `TemplateError`."""
        try:
            record = _decode(value)
            histogram = histogram_in(bytes(record.histogram))
        except (msgspec.MsgspecError, HistogramError, UnicodeDecodeError, RecursionError) as error:
            raise TemplateError(f"not a template record: {error}") from error
        if key != record.template.encode():
            raise TemplateError(f"its key is {key[:200]!r}, its template {record.template!r}: they must be equal")
        return cls(record.template, histogram, record.change)


class NamedTemplates(Mapping[str, NamedTemplate]):
    """Every template that has a name, a view of the topic; one thread changes it, any may read it."""

    def __init__(self, *, follows: bool = False) -> None:
        self._by_name: dict[str, NamedTemplate] = {}
        self.is_caught_up = not follows

    def __getitem__(self, name: str) -> NamedTemplate:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def replace(self, records: Iterable[Iterable[Record]]) -> None:
        """Begin anew with all records that there are."""
        by_name: dict[str, NamedTemplate] = {}
        for some in records:
            _take(by_name, some)
        self._by_name, self.is_caught_up = by_name, True

    def apply(self, records: Iterable[Record]) -> None:
        """Take what came since."""
        by_name = dict(self._by_name)
        _take(by_name, records)
        self._by_name = by_name


def _take(by_name: dict[str, NamedTemplate], records: Iterable[Record]) -> None:
    for record in records:
        key = record.key or b""
        try:
            if record.value is None:
                by_name.pop(key.decode(), None)
            else:
                template = NamedTemplate.from_record(key, record.value)
                by_name[template.name] = template
        except (TemplateError, UnicodeDecodeError) as error:
            log.warning("skipped a record", extra={"topic": record.topic, "offset": record.offset, "fault": str(error)})


T = TypeVar("T", Sensor, NamedTemplate)


def record_of(name: str, registered: T | None, change: LastChange) -> tuple[bytes, bytes | None]:
    """Return the key and the value of the record by which a change makes something what it is."""
    return name.encode(), None if registered is None else replace(registered, change=change).to_record()


def renewed(sensor: Sensor, templates: Mapping[str, NamedTemplate]) -> Sensor:
    """Return the sensor with those templates that it names, as they are now."""
    present = {stream: templates[name].histogram for stream, name in sensor.names.items() if name in templates}
    return replace(sensor, streams=MappingProxyType({**sensor.streams, **present})) if present else sensor


def audited_template(name: str, before: NamedTemplate | None, after: NamedTemplate | None) -> tuple[str, str, Any, Any]:
    """Return what the audit trail tells of a change: the action, its subject, and the template before and after it."""
    was, now = (None if each is None else each.histogram.to_json() for each in (before, after))
    return f"template.{action(before, after)}", name, was, now
