"""Records of coincide.clocks: clocks that several sensors report by, and what somebody says of one."""

from typing import Annotated

from msgspec import Meta, Struct

from coincide.wire.declarations.names import RegisteredName, SensorId
from coincide.wire.declarations.sensor_record import HistogramJson
from coincide.wire.fields import FormatVersion
from coincide.wire.last_change import Author, ChangeCount, ChangedAt

#: Of a clock, which is found by it under /v1/clocks; the same may be said as of a sensor's.
ClockId = SensorId


class ClockParticulars(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What somebody says of a clock besides its error."""

    label: Annotated[RegisteredName, Meta(description="What people call it.")] | None = None


class ClockRecord(ClockParticulars, frozen=True, forbid_unknown_fields=False, omit_defaults=True, kw_only=True):
    """A clock that several sensors report by.

    Key: the id. The topic is compacted; a null value removes the clock. The templates of sensors on it have its error
    in full in the sensors' own records.
    """

    v: FormatVersion
    clock: Annotated[ClockId, Meta(description="Id of the clock; also the record's key.")]
    error: HistogramJson
    version: ChangeCount = 0
    changed_at_us: ChangedAt | None = None
    changed_by: Author | None = None
