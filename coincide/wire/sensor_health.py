"""Records of coincide.sensor-health: when sensors were last heard of, how often, how late, how their templates fit.

Fusion writes them, ingest and alerting read them. A record holds some sensors of one area, a *part* of it, so that no
record grows without bound. The topic is compacted, and the key is area and part.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from coincide.wire.fields import Microseconds

HEALTH = "sensor-health"

Count = Annotated[int, Meta(ge=0, le=2**53)]
Share = Annotated[float, Meta(ge=0, le=1)]


class TemplateDrift(Struct, frozen=True, gc=False):
    """How recent errors of a sensor on a stream spread over the levels of their template; see `coincide.learning`."""

    template: Annotated[str, Meta(pattern=r"^t-[0-9a-f]{16}$")]
    errors: Count
    distance: Share
    p_value: Share
    levels: list[Count]
    spread: Annotated[float, Meta(gt=0)] = 1.0
    spread_p_value: Share = 1.0


class SensorHealth(Struct, frozen=True, gc=False):
    """What fusion has heard of one sensor on one stream, and has not forgotten; older detections count less."""

    sensor: str
    stream: str
    since_us: Microseconds
    last_seen_us: Microseconds
    rate_hz: float | None
    late_share: Share
    drift: TemplateDrift | None


class HealthRecord(Struct, frozen=True):
    """One part of an area's sensors."""

    area: str
    part: int
    at_us: Microseconds
    sensors: list[SensorHealth]
    v: Literal[1] = 1

    @property
    def key(self) -> bytes:
        """The record's key."""
        return msgspec.json.encode([self.area, self.part])

    def to_record(self) -> bytes:
        """Return the record's value."""
        return msgspec.json.encode(self)


class HealthError(ValueError):
    """A record that tells no sensor's health."""


_decode = msgspec.json.Decoder(HealthRecord).decode


def health_in(value: bytes) -> HealthRecord:
    """Read what `to_record` wrote; raises `HealthError`."""
    try:
        return _decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HealthError(f"not a record of sensors' health: {error}") from error
