"""Query fields: reading the fields of a query over readings; every refusal names the field by its whole path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coincide.stream import LONGEST_DELAY_S
from coincide.within import QueryError, is_number, object_fields


def given_fields(path: str, obj: object, known: Sequence[str], required: Sequence[str] = ()) -> dict[str, Any]:
    """Return the fields of a JSON object.

    Raises
    ------
    QueryError
        It is no object, a field is not among `known` or null, or one of `required` is missing.
    """
    fields = dict(object_fields(path, obj))
    for name, value in fields.items():
        if name not in known:
            raise QueryError(inside(path, name), f"is unknown: one of {', '.join(known)}")
        if value is None:
            raise QueryError(inside(path, name), "is null: leave it out")
    for name in required:
        if name not in fields:
            raise QueryError(inside(path, name), "is missing")
    return fields


def inside(path: str, name: str) -> str:
    """Return the path of a field of the object at `path`; the query itself is at "query".

    Examples
    --------
    >>> inside("query", "id"), inside("coalesce", "by")
    ('id', 'coalesce.by')
    """
    return name if path == "query" else f"{path}.{name}"


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
