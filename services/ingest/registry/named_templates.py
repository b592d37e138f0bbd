"""Templates that have a name: coincide.templates, a compacted topic of one partition, keyed by the name.

A sensor's record has its templates in full, and beside them the names of those that have one. So whoever follows the
sensors needs no templates, and to change a template is to change the sensors that name it. None of them is on a clock:
beside a clock a sensor names one for what is its own.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgspec
from msgspec import Raw, structs

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.templates.clocked import plain_from_json
from coincide.templates.histogram import histogram_of_form
from coincide.wire.declarations.sensor_record import TemplateRecord
from coincide.wire.last_change import UNKNOWN_CHANGE, LastChange
from services.common.resources.resource import action
from services.ingest.registry.declared_by_name import DeclaredByName, DeclaredError

TEMPLATES = "templates"
VERSION: Final = 1


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
            histogram = plain_from_json(msgspec.json.decode(record.histogram))
        except (msgspec.MsgspecError, HistogramError, UnicodeDecodeError, RecursionError) as error:
            raise DeclaredError(f"not a template record: {error}") from error
        if key != record.template.encode():
            raise DeclaredError(f"its key is {key[:200]!r}, its template {record.template!r}: they must be equal")
        return cls(record.template, histogram, record.change)


class NamedTemplates(DeclaredByName[NamedTemplate]):
    """Every template that has a name, a view of the topic."""

    def __init__(self, *, follows: bool = False) -> None:
        super().__init__(NamedTemplate.from_record, follows=follows)


def unclocked_template(form: dict[str, Any]) -> Histogram:
    """Return the template of a form, which may not be on a clock; raises `HistogramError`."""
    if "clock" in form:
        raise HistogramError("clock", form["clock"], "nothing: a sensor names its clock, and beside it this template")
    return histogram_of_form(form)


def audited_template(name: str, before: NamedTemplate | None, after: NamedTemplate | None) -> tuple[str, str, Any, Any]:
    """Return what the audit trail tells of a change: the action, its subject, and the template before and after it."""
    was, now = (None if each is None else each.histogram.to_json() for each in (before, after))
    return f"template.{action(before, after)}", name, was, now
