"""Types of query parameters."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEAR_1980_US = 315_532_800_000_000
LAST_US = 253_402_300_799_999_999  # the end of the year 9999
ALLOWED = "an RFC 3339 time such as 1987-02-23T07:35:35Z, or microseconds since 1970"

# A + that was not written as %2B arrives as a space.
_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?)([Zz]|[+ -]\d\d:\d\d)", re.ASCII)


def instant_us(text: Any) -> int:
    """Return a moment in microseconds since the epoch, UTC.

    Raises
    ------
    ValueError
        It is neither RFC 3339 nor a whole number of microseconds from 1980 to 9999.
    """
    if isinstance(text, str) and (match := _RFC_3339.fullmatch(text)):
        since = datetime.fromisoformat(match[1].upper() + match[2].upper().replace(" ", "+")) - EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if not re.fullmatch(r"\d{1,18}", str(text), re.ASCII):
        raise ValueError(ALLOWED)
    if int(text) < YEAR_1980_US:
        raise ValueError(f"{ALLOWED}, at least {YEAR_1980_US} (1980); this looks like seconds or milliseconds")
    if int(text) > LAST_US:
        raise ValueError(f"{ALLOWED}, before the year 10000")
    return int(text)


Instant = Annotated[
    int,
    BeforeValidator(instant_us),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "format": "int64"}]}),
]
