"""Clocks that sensors report by: coincide.clocks, a compacted topic of one partition, keyed by the clock's id.

The templates of a sensor's record have the error of its clock in full. So whoever follows the sensors needs no clocks,
and to change a clock is to change the sensors on it.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgspec
from msgspec import Raw, structs

from coincide import Histogram
from coincide.clocks import Clock
from coincide.errors import HistogramError
from coincide.templates.histogram import histogram_of_form
from coincide.wire.declarations.clock_record import ClockId, ClockParticulars, ClockRecord
from coincide.wire.last_change import UNKNOWN_CHANGE, LastChange
from services.ingest.registry.declared_by_name import DeclaredByName, declared_record

CLOCKS = "clocks"
VERSION: Final = 1

NO_CLOCK_PARTICULARS = ClockParticulars()

_decode = msgspec.json.Decoder(ClockRecord).decode


class ClockDocument(ClockParticulars, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A clock as somebody writes it; its error is a form of a template."""

    id: ClockId | None = None
    error: dict[str, Any]


@dataclass(frozen=True)
class RegisteredClock:
    """A clock, and what is said of it; equal if all of this is, whichever change brought it about."""

    name: str
    error: Histogram
    particulars: ClockParticulars = NO_CLOCK_PARTICULARS
    change: LastChange = field(default=UNKNOWN_CHANGE, compare=False)

    @classmethod
    def of_document(cls, name: str, said: ClockDocument) -> Self:
        """Return the clock that a document describes; a `HistogramError` says what is wrong with its error."""
        try:
            error = histogram_of_form(said.error)
        except HistogramError as fault:
            raise HistogramError(f"error.{fault.field}", fault.value, fault.allowed) from None
        return cls(name, error, ClockParticulars(label=said.label))

    @property
    def clock(self) -> Clock:
        """The clock that makes templates."""
        return Clock(self.name, self.error)

    @property
    def document(self) -> dict[str, Any]:
        """What declares it."""
        return {"error": self.error.to_json(), **msgspec.to_builtins(self.particulars)}

    def to_record(self) -> bytes:
        """Return the value of its record, the same bytes for equal clocks."""
        error = Raw(msgspec.json.encode(self.error.to_json()))
        said = structs.asdict(self.particulars) | structs.asdict(self.change)
        return msgspec.json.encode(ClockRecord(v=VERSION, clock=self.name, error=error, **said))

    @classmethod
    def from_record(cls, key: bytes, value: bytes) -> Self:
        """Read what `to_record` wrote; raises `DeclaredError`."""
        record, error = declared_record("clock", key, value, _decode, lambda each: (each.clock, each.error))
        change = LastChange(record.version, record.changed_at_us, record.changed_by)
        return cls(record.clock, error, ClockParticulars(label=record.label), change)


class RegisteredClocks(DeclaredByName[RegisteredClock]):
    """Every clock that is registered, a view of the topic."""

    def __init__(self, *, follows: bool = False) -> None:
        super().__init__(RegisteredClock.from_record, follows=follows)
