"""Records of coincide.sensor-health: when sensors were last heard of, how often, how late, how their templates fit.

Fusion writes them, ingest and alerting read them. A record holds some sensors of one area, a *part* of it, so that no
record grows without bound. The topic is compacted, and the key is area and part.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from coincide.wire.fields import FormatVersion, Microseconds, NotNegative, Probability

HEALTH = "sensor-health"

LEVELS = 20
MOST_SENSORS = 256  # and streams of one record
#: What is counted here is also summed.
Count = Annotated[int, Meta(ge=0, le=2**53)]


class TemplateDrift(Struct, frozen=True, gc=False):
    """How recent errors of a sensor on a stream spread over the levels of their template; see `coincide.learning`."""

    template: Annotated[str, Meta(pattern=r"^t-[0-9a-f]{16}$", description="Template of the newest error.")]
    errors: Annotated[
        Count,
        Meta(
            description="How many errors the levels are of. Beyond 200 each count is halved, so that older ones count "
            "less.",
            extra_json_schema={"exclusiveMinimum": 0},
        ),
    ]
    distance: Annotated[
        Probability,
        Meta(description="Greatest distance of the P-P plot from its diagonal: 0 if the template fits."),
    ]
    p_value: Annotated[
        Probability,
        Meta(
            description="Probability of so great a distance if the template is right. Below 0.001, with a distance of "
            "at least 0.1, the template drifts."
        ),
    ]
    levels: Annotated[
        list[Count],
        Meta(
            description="How many errors lie in each twentieth of their template's probability, lowest first.",
            extra_json_schema={"minItems": LEVELS, "maxItems": LEVELS},
        ),
    ]
    spread: Annotated[
        float,
        Meta(
            gt=0,
            description="How many times as wide as the template says the errors are, by the mean distance of their "
            "levels from the middle: 1 fits, and 1.5 of a Gaussian whose sigma is 1.5 times as great.",
        ),
    ] = 1.0
    spread_p_value: Annotated[
        Probability,
        Meta(
            description="Probability of a spread so far from 1 if the template is right. Below 0.0001, with a spread "
            "of at least 1.25 or at most 0.8, the template drifts."
        ),
    ] = 1.0


class SensorHealth(Struct, frozen=True, gc=False):
    """What fusion has heard of one sensor on one stream, and has not forgotten; older detections count less."""

    sensor: Annotated[str, Meta(extra_json_schema={"minLength": 1})]
    stream: Annotated[str, Meta(extra_json_schema={"minLength": 1})]
    since_us: Annotated[Microseconds, Meta(description="received_at of the first detection that is counted.")]
    last_seen_us: Annotated[Microseconds, Meta(description="received_at of the newest detection, late or not.")]
    rate_hz: Annotated[
        NotNegative | None,
        Meta(
            description="Detections a second until last_seen_us, late ones among them; each counts half after an "
            "hour. null: all came at one moment."
        ),
    ]
    late_share: Annotated[
        Probability, Meta(description="Share of them that came too late to be joined; older ones count less.")
    ]
    drift: Annotated[
        TemplateDrift | None,
        Meta(description="How errors fit the template, by matches of three and more members; null if there was none."),
    ]
    echo_share: Annotated[
        Probability,
        Meta(description="Share of them that were found to be echoes of others; older ones count less."),
    ] = 0.0


class HealthRecord(Struct, frozen=True):
    """What fusion has heard of some sensors of one area.

    It says when each was last heard of, how often, how late, and how well recent errors fit its template. Key: the JSON
    array of area and part. The topic is compacted; a null value removes the part. Fusion writes a part that has changed
    at most every 10 s, and at most 64 parts a batch. A sensor may stand in two records, because it moved to another
    area or fusion was rebuilt: the one with the later last_seen_us counts. A sensor that was removed from the registry
    stays here until more than 131,072 are followed in its shard; then those silent for longest are forgotten.
    """

    area: Annotated[str, Meta(description="The area.", extra_json_schema={"minLength": 1})]
    part: Annotated[
        int,
        Meta(
            description=f"Which of the area's records; each has at most {MOST_SENSORS} sensors and streams.",
            extra_json_schema={"minimum": 0},
        ),
    ]
    at_us: Annotated[
        Microseconds,
        Meta(
            description="Newest received_at of all partitions when fusion wrote the record. Without a newer record, "
            "its sensors have sent nothing since, but for what came in the last 10 s."
        ),
    ]
    sensors: Annotated[list[SensorHealth], Meta(extra_json_schema={"minItems": 1})]
    v: FormatVersion = 1

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
