"""What lists of results share: instants as parameters, queries by id, and one page of JSON."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from coincide.arrays.instants import FROM_1980_ON, YEAR_1980_US
from services.alerting.settings import AlertingSettings
from services.alerting.store.dialect import Rows
from services.common.instants import LAST_US, rfc_3339_us
from services.common.pages import PageParameters, decode_cursor, encode_cursor, page_limit

#: What a parameter that filters by a flag stands for; None asks for both.
FLAGS = {"false": False, "true": True, "any": None}

QUERIES_MAX = 20


def read_page(
    parameters: PageParameters, settings: AlertingSettings, filters: Any, read: Callable[[int | None, int], Rows]
) -> tuple[Rows, str | None]:
    """Return the rows of the page and the cursor to the next; None on the last.

    Raises `Problem`: 422 when more items are requested than allowed, or the cursor is not one for these `filters`.
    """
    limit = page_limit(parameters.limit, settings.page_items, settings.page_items_max)
    rows = read(decode_cursor(filters, parameters.cursor), limit + 1)
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], encode_cursor(filters, rows[limit - 1].sequence)


def _ids(given: Any) -> Any:
    """Take ids apart that are written with commas between; each counts once."""
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        return given
    return list(dict.fromkeys(id_ for each in given for id_ in each.split(",") if id_))


def _few(ids: Sequence[str]) -> Sequence[str]:
    if len(ids) > QUERIES_MAX:
        raise ValueError(f"at most {QUERIES_MAX} queries; these are {len(ids)}")
    return ids


ALLOWED = "an RFC 3339 time such as 1987-02-23T07:35:35Z, or microseconds since 1970"


def instant_us(text: Any) -> int:
    """Return microseconds since 1970 UTC; a `ValueError` where it is neither RFC 3339 nor those, of 1980 to 9999."""
    # A + that was not written as %2B arrives as a space.
    instant_as_us = rfc_3339_us(text.replace(" ", "+")) if isinstance(text, str) else None
    if instant_as_us is not None:
        return instant_as_us
    if not re.fullmatch(r"\d{1,18}", str(text), re.ASCII):
        raise ValueError(ALLOWED)
    if int(text) < YEAR_1980_US:
        raise ValueError(f"{ALLOWED}, {FROM_1980_ON}")
    if int(text) > LAST_US:
        raise ValueError(f"{ALLOWED}, before the year 10000")
    return int(text)


Instant = Annotated[
    int,
    BeforeValidator(instant_us),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "format": "int64"}]}),
]
QueryIds = Annotated[list[Annotated[str, Field(max_length=200)]], BeforeValidator(_ids), AfterValidator(_few)]
