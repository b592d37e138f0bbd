"""Times as gateways write them, to microseconds since the epoch, UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from services.ingest.reasons import INT64, Reason, Refused
from services.ingest.request import ALLOWED, Instant

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEAR_1980_US = 315_532_800_000_000
LAST_US = 253_402_300_799_999_999  # the end of the year 9999

# datetime.fromisoformat also takes naive times, week dates and commas, which RFC 3339 does not.
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII).fullmatch


def instant_us(instant: Instant, field: str = "detected_at") -> int:
    """Return `instant` in microseconds since the epoch; parts of a microsecond are cut off.

    Raises
    ------
    Refused
        `bad_time`, `before_1980`, or `looks_like_seconds` for a number that as microseconds lies before 1980:
        whoever sends seconds or milliseconds would otherwise silently report 1970.
    """
    if isinstance(instant, str):
        instant_as_us = _rfc_3339_us(instant, field)
        if instant_as_us < YEAR_1980_US:
            raise Refused(Reason.BEFORE_1980, field, instant, "1980-01-01T00:00:00Z or later")
        return instant_as_us
    if instant < YEAR_1980_US:
        allowed = f"microseconds since 1970, at least {YEAR_1980_US} (1980); this looks like seconds or milliseconds"
        raise Refused(Reason.LOOKS_LIKE_SECONDS, field, instant, allowed)
    if instant not in INT64:
        raise Refused(Reason.OUT_OF_RANGE, field, instant, "an integer of 64 bits")
    if instant > LAST_US:
        raise Refused(Reason.IN_THE_FUTURE, field, instant, "microseconds since 1970, before the year 10000")
    return instant


def _rfc_3339_us(text: str, field: str) -> int:
    if not _RFC_3339(text):
        raise Refused(Reason.BAD_TIME, field, text, ALLOWED["detected_at"])
    try:
        since = datetime.fromisoformat(text.upper()) - EPOCH
    except ValueError as error:
        raise Refused(Reason.BAD_TIME, field, text, f"{ALLOWED['detected_at']} ({error})") from None
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
