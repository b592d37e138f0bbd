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
from coincide.templates.histogram import histogram_of_form
from coincide.wire.declarations.sensor_record import TemplateRecord
from coincide.wire.last_change import UNKNOWN_CHANGE, LastChange
from services.ingest.registry.declared_by_name import DeclaredByName, declared_record

TEMPLATES = "templates"
VERSION: Final = 1


_decode = msgspec.json.Decoder(TemplateRecord).decode


@dataclass(frozen=True)
class NamedTemplate:
    """A template under its name; equal if both are, whichever change brought it about."""

    name: str
    histogram: Histogram
    change: LastChange = field(default=UNKNOWN_CHANGE, compare=False)

    @property
    def document(self) -> dict[str, Any]:
        """What declares it."""
        return self.histogram.to_json()

    def to_record(self) -> bytes:
        """Return the value of its record, the same bytes for equal templates."""
        histogram = Raw(msgspec.json.encode(self.histogram.to_json()))
        record = TemplateRecord(v=VERSION, template=self.name, histogram=histogram, **structs.asdict(self.change))
        return msgspec.json.encode(record)

    @classmethod
    def from_record(cls, key: bytes, value: bytes) -> Self:
        """Read what `to_record` wrote; raises `DeclaredError`."""
        record, histogram = declared_record(
            "template", key, value, _decode, lambda each: (each.template, each.histogram)
        )
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
