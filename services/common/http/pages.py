"""Pages of lists: their parameters and their cursors, the same for every list of every service."""

import base64
import binascii
import hashlib
import json
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from services.common.http.problem import Problem

#: Where a page ends, in the order of its list: a number of insertion, or a name.
Place = int | str
Item = TypeVar("Item")

PAGE_ITEMS, PAGE_ITEMS_MAX = 100, 1_000  # usual and most, where no setting says it
CURSOR_CHARACTERS = 500


class PageParameters(BaseModel):
    """Which page of a list; the lists add their filters."""

    model_config = ConfigDict(extra="forbid")

    limit: int | None = Field(None, ge=1, description="Items on the page.")
    cursor: str | None = Field(
        None,
        max_length=CURSOR_CHARACTERS,
        json_schema_extra={"pattern": "^[A-Za-z0-9_-]+$"},
        description="`next_cursor` of the page before.",
    )


NEXT_CURSOR = "Ask with it as `cursor` for the next page; null on the last."


class Page(BaseModel, Generic[Item]):
    """Some items of a list."""

    items: list[Item]
    next_cursor: str | None = Field(description=NEXT_CURSOR)


def page_limit(wanted: int | None, usual: int, most: int) -> int:
    """Return how many items the page has; a 422 `Problem` when more are requested than allowed."""
    limit = wanted or usual
    if limit > most:
        raise Problem(422, f"limit: is {limit}: from 1 to {most}")
    return limit


def page_of_names(
    names: Sequence[str],
    wanted: PageParameters,
    filters: Any,
    passes: Callable[[str], bool] = lambda _: True,
    most_looked_at: int = sys.maxsize,
) -> tuple[list[str], str | None]:
    """Return the page of sorted names that pass, and the cursor to the next; a 422 `Problem` as the others here.

    It begins behind the last name of the page before, whatever came or went since. Of a list in which few pass it looks
    at so many names, and the page may be short although more follow.
    """
    limit = page_limit(wanted.limit, PAGE_ITEMS, PAGE_ITEMS_MAX)
    start = at = bisect_right(names, decode_name_cursor(filters, wanted.cursor) or "")
    page: list[str] = []
    while at < min(len(names), start + most_looked_at) and len(page) < limit:
        if passes(names[at]):
            page.append(names[at])
        at += 1
    return page, encode_cursor(filters, names[at - 1]) if at < len(names) else None


def encode_cursor(filters: Any, place: Place) -> str:
    """Return the cursor to what lies behind `place`, for these `filters` only."""
    content = json.dumps([place, _fingerprint(filters)]).encode()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def decode_cursor(filters: Any, cursor: str | None) -> int | None:
    """Return the sequence in `cursor`, None for the first page; a 422 `Problem` when it is none for these `filters`."""
    place = _place(filters, cursor)
    if place is not None and (type(place) is not int or not 0 <= place < 2**63):
        raise not_ours(cursor)
    return place


def decode_name_cursor(filters: Any, cursor: str | None) -> str | None:
    """Return the name in `cursor`, as `decode_cursor` does the sequence of lists that are in order of insertion."""
    place = _place(filters, cursor)
    if place is not None and not isinstance(place, str):
        raise not_ours(cursor)
    return place


def _place(filters: Any, cursor: str | None) -> Any:
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        place, fingerprint = json.loads(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        place = fingerprint = None
    if not isinstance(place, int | str) or not isinstance(fingerprint, str):
        raise not_ours(cursor)
    if fingerprint != _fingerprint(filters):
        raise Problem(422, "cursor: was returned for other filters; repeat the filters of the first page with it")
    return place


def not_ours(cursor: str | None) -> Problem:
    """Return the problem of a cursor that no list has given."""
    return Problem(422, f"cursor: {(cursor or '')[:80]!r} is not one that this service returned as next_cursor")


def _fingerprint(filters: Any) -> str:
    return hashlib.sha256(repr(filters).encode()).hexdigest()[:16]


def json_page(bodies: Iterable[str], **members: str | None) -> Response:
    """Return a page whose items are the JSON texts `bodies`; `members` are its other members."""
    others = "".join(f',"{name}":{json.dumps(value)}' for name, value in members.items())
    return Response('{"items":[' + ",".join(bodies) + "]" + others + "}", media_type="application/json")
