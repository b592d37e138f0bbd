"""What a detection may carry along: a small JSON object, passed on unread."""

from __future__ import annotations

from typing import Any

import msgspec

from services.ingest.reasons import INT64, Reason, Refused

LONGEST_BYTES = 1024
DEEPEST = 5
_encode = msgspec.json.Encoder().encode


def check_attributes(attributes: dict[str, Any]) -> None:
    """Refuse attributes that are longer than 1 KiB as compact JSON, deeper than 5 levels, or beyond 64 bits.

    Raises
    ------
    Refused
        `attributes_too_long`, `too_deep` or `out_of_range`.
    """
    _check_members(attributes.values(), 1)
    length = len(_encode(attributes))
    if length > LONGEST_BYTES:
        raise Refused(
            Reason.ATTRIBUTES_TOO_LONG, "attributes", length, f"at most {LONGEST_BYTES} bytes of compact JSON"
        )


def _check_members(members: Any, depth: int) -> None:
    for member in members:
        kind = type(member)
        if kind is int and member not in INT64:
            raise Refused(Reason.OUT_OF_RANGE, "attributes", member, "integers of 64 bits, -2^63 to 2^63 - 1")
        if kind is dict or kind is list:
            if depth == DEEPEST:
                raise Refused(Reason.TOO_DEEP, "attributes", None, f"at most {DEEPEST} levels")
            _check_members(member.values() if kind is dict else member, depth + 1)
