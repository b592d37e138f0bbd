"""Pages of results: their parameters, their cursors, and stored JSON put together without parsing it again."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Response
from pydantic import BeforeValidator, WithJsonSchema

from services.alerting.settings import Settings
from services.common.problem import Problem


def encode_cursor(filters: Any, before: int) -> str:
    """Return the cursor to what lies before the sequence `before`, for these `filters` only."""
    return base64.urlsafe_b64encode(json.dumps([before, _fingerprint(filters)]).encode()).decode().rstrip("=")


def decode_cursor(filters: Any, cursor: str | None) -> int | None:
    """Return the sequence that `cursor` holds; None for the first page.

    Raises
    ------
    Problem
        422 when it is not a cursor, or was returned for other filters.
    """
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        before, fingerprint = json.loads(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise Problem(422, f"cursor: {cursor[:80]!r} is not one that this service returned as next_cursor") from None
    if type(before) is not int or not 0 <= before < 2**63:
        raise Problem(422, f"cursor: {cursor[:80]!r} is not one that this service returned as next_cursor")
    if fingerprint != _fingerprint(filters):
        raise Problem(422, "cursor: was returned for other filters; repeat the filters of the first page with it")
    return before


def _fingerprint(filters: Any) -> str:
    return hashlib.sha256(repr(filters).encode()).hexdigest()[:16]


def page_limit(asked: int | None, settings: Settings) -> int:
    """Return how many items a page has.

    Raises
    ------
    Problem
        422 when more are asked for than allowed.
    """
    if asked is not None and asked > settings.page_items_max:
        raise Problem(422, f"limit: is {asked}: from 1 to {settings.page_items_max}")
    return asked or settings.page_items


def json_page(bodies: Iterable[str], **members: str | None) -> Response:
    """Return a page whose items are the JSON texts `bodies`; `members` are its other members."""
    others = "".join(f',"{name}":{json.dumps(value)}' for name, value in members.items())
    return Response('{"items":[' + ",".join(bodies) + "]" + others + "}", media_type="application/json")


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
