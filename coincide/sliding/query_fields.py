"""Query fields: reading the fields of a query over readings; every refusal names the field by its whole path."""

from __future__ import annotations

from coincide.errors import QueryError
from coincide.json_fields import is_number
from coincide.stream import LONGEST_DELAY_S


def duration_us(path: str, seconds: object) -> int:
    """Return a number of seconds in whole microseconds.

    Raises
    ------
    QueryError
        It is no number, less than a microsecond or more than 1e8 s.

    Examples
    --------
    >>> duration_us("window.slide_s", 0.25)
    250000
    """
    if not is_number(seconds) or not 1e-6 <= seconds <= LONGEST_DELAY_S:  # type: ignore[operator]
        raise QueryError(path, f"is {seconds!r}: a number of seconds from 1e-6 to {LONGEST_DELAY_S:g}")
    return round(seconds * 1e6)  # type: ignore[operator]


def seconds_of(duration: int) -> float | int:
    """Return microseconds as seconds; a whole number as such.

    Examples
    --------
    >>> seconds_of(3_600_000_000), seconds_of(250_000)
    (3600, 0.25)
    """
    return duration // 1_000_000 if duration % 1_000_000 == 0 else duration / 1e6
