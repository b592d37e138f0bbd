"""Verdicts: what became of each item of a POST, in the order of the items."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from services.ingest.reasons import Refused

Status = Literal["accepted", "refused", "unacknowledged"]


class Verdict(Struct, omit_defaults=True):
    """What became of the item at position `index`; absent members do not apply.

    Attributes
    ----------
    id : str
        Of an accepted or unacknowledged detection.
    reason, field, value, allowed, detail
        Of a refused one: the code, the field it is about, its value (shortened), what would have been allowed, and
        the same as one sentence.
    retryable : bool
        Whether sending the same item again can help.
    """

    index: int
    status: Status
    id: str | None = None
    reason: str | None = None
    field: str | None = None
    value: str | int | float | bool | None = None
    allowed: str | None = None
    detail: str | None = None
    retryable: bool | None = None


class Answer(Struct):
    """The answer to a POST of which at least one item was accepted and every accepted one is acknowledged."""

    accepted: int
    refused: int
    received_at_us: int
    detections: list[Verdict]


def accepted(index: int, detection_id: str) -> Verdict:
    """Return the verdict on a detection that Kafka holds."""
    return Verdict(index, "accepted", detection_id)


def unacknowledged(index: int, detection_id: str) -> Verdict:
    """Return the verdict on a valid detection that Kafka may or may not hold; sending it again is safe."""
    return Verdict(index, "unacknowledged", detection_id, retryable=True)


def refused(index: int, why: Refused) -> Verdict:
    """Return the verdict on a detection that cannot be taken as it is."""
    return Verdict(
        index,
        "refused",
        reason=why.reason,
        field=why.field,
        value=why.value,
        allowed=why.allowed,
        detail=why.detail,
        retryable=why.reason.retryable,
    )
