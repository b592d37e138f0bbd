"""Pages of results: their parameters, their cursors, and stored JSON put together without parsing it again."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from fastapi import Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from services.alerting.settings import AlertingSettings
from services.alerting.store.dialect import Rows
from services.common.instants import LAST_US, YEAR_1980_US, rfc_3339_us
from services.common.problem import Problem

#: What a parameter that filters by a flag stands for; None asks for both.
FLAGS = {"false": False, "true": True, "any": None}


class PageParameters(BaseModel):
    """Which page of a list; the lists add their filters."""

    model_config = ConfigDict(extra="forbid")

    limit: int | None = Field(None, ge=1, description="Items on the page.")
    cursor: str | None = Field(None, max_length=200, description="`next_cursor` of the page before.")


def read_page(
    parameters: PageParameters, settings: AlertingSettings, filters: Any, read: Callable[[int | None, int], Rows]
) -> tuple[Rows, str | None]:
    """Return the rows of the page and the cursor to the next; None on the last.

    Raises `Problem`: 422 when more items are requested than allowed, or the cursor is not one for these `filters`.
    """
    limit = parameters.limit or settings.page_items
    if limit > settings.page_items_max:
        raise Problem(422, f"limit: is {limit}: from 1 to {settings.page_items_max}")
    rows = read(decode_cursor(filters, parameters.cursor), limit + 1)
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], encode_cursor(filters, rows[limit - 1].sequence)


def encode_cursor(filters: Any, before: int) -> str:
    """Return the cursor to what lies before the sequence `before`, for these `filters` only."""
    return base64.urlsafe_b64encode(json.dumps([before, _fingerprint(filters)]).encode()).decode().rstrip("=")


def decode_cursor(filters: Any, cursor: str | None) -> int | None:
    """Return the sequence in `cursor`, None for the first page; a 422 `Problem` when it is none for these `filters`."""
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        before, fingerprint = json.loads(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        before = fingerprint = None
    if type(before) is not int or not 0 <= before < 2**63:
        raise Problem(422, f"cursor: {cursor[:80]!r} is not one that this service returned as next_cursor")
    if fingerprint != _fingerprint(filters):
        raise Problem(422, "cursor: was returned for other filters; repeat the filters of the first page with it")
    return before


def _fingerprint(filters: Any) -> str:
    return hashlib.sha256(repr(filters).encode()).hexdigest()[:16]


def json_page(bodies: Iterable[str], **members: str | None) -> Response:
    """Return a page whose items are the JSON texts `bodies`; `members` are its other members."""
    others = "".join(f',"{name}":{json.dumps(value)}' for name, value in members.items())
    return Response('{"items":[' + ",".join(bodies) + "]" + others + "}", media_type="application/json")


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
        raise ValueError(f"{ALLOWED}, at least {YEAR_1980_US} (1980); this looks like seconds or milliseconds")
    if int(text) > LAST_US:
        raise ValueError(f"{ALLOWED}, before the year 10000")
    return int(text)


Instant = Annotated[
    int,
    BeforeValidator(instant_us),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "format": "int64"}]}),
]
