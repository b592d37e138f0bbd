"""Keyset cursors: where the next page begins, opaque to the caller and checked when it comes back."""

import base64
import binascii
import hashlib
import json
from typing import Any

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
