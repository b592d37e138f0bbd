"""A JSON reader that marks what is wrong inside one item instead of failing the whole body."""

import json
import math
from typing import Any

from services.ingest.verdicts import INT64, Reason, Refused


class Flaw:
    """Stands in the place of a value that no detection may have."""

    __slots__ = ("allowed", "original", "reason", "value")

    def __init__(self, reason: Reason, value: Any, allowed: str, original: Any = None) -> None:
        self.reason = reason
        self.value = value
        self.allowed = allowed
        self.original = value if original is None else original

    def __str__(self) -> str:
        return str(self.original)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Flaw:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return Flaw(Reason.DUPLICATE_KEY, twice, "each key once in an object", members)


def _integer(digits: str) -> int | Flaw:
    number = int(digits) if len(digits) <= 20 else None
    if number is None or number not in INT64:
        return Flaw(Reason.OUT_OF_RANGE, digits, "an integer of 64 bits, -2^63 to 2^63 - 1")
    return number


def _double(digits: str) -> float | Flaw:
    number = float(digits)
    return number if math.isfinite(number) else _constant(digits)


def _constant(name: str) -> Flaw:
    return Flaw(Reason.NOT_FINITE, name, "finite numbers only")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_double, parse_constant=_constant
)


def read(text: str) -> Any:
    """Return the JSON value of `text`, a `Flaw` in each bad place; `Refused` where it is no JSON, or far too deep."""
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise Refused(Reason.MALFORMED_JSON, None, None, "JSON that is not nested hundreds of levels deep") from None
    except json.JSONDecodeError as error:
        allowed = f"JSON; line {error.lineno} column {error.colno}: {error.msg}"
        raise Refused(Reason.MALFORMED_JSON, None, error.doc[error.pos : error.pos + 20], allowed) from None


def refuse_flaws(value: Any, field: str | None = None) -> None:
    """Raise `Refused` for the first flaw or unusable text in `value`; `field` is the top-level key it is under."""
    if isinstance(value, Flaw):
        twice = value.reason is Reason.DUPLICATE_KEY
        raise Refused(value.reason, field or (value.value if twice else None), value.value, value.allowed)
    if isinstance(value, str):
        _refuse_bad_text(value, field)
    elif isinstance(value, dict):
        for key, member in value.items():
            _refuse_bad_text(key, field or key)
            refuse_flaws(member, field or key)
    elif isinstance(value, list):
        for member in value:
            refuse_flaws(member, field)


def _refuse_bad_text(text: str, field: str | None) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise Refused(Reason.BAD_TEXT, field, text, "whole characters; this text holds half a surrogate pair")
    if any(character < " " for character in text):
        raise Refused(Reason.BAD_TEXT, field, text, "text without control characters")
