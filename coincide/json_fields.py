"""Fields of JSON objects: every refusal names the field by its whole path, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coincide.arrays.numbers import is_number
from coincide.constraints.window import is_threshold
from coincide.errors import QueryError


def refuse_unless_probability(field: str, value: object) -> None:
    """Refuse what is no number above 0 and at most 1."""
    if not is_threshold(value):
        raise QueryError(field, f"is {value!r}: above 0 and at most 1")


def as_float(value: Any) -> Any:
    """Return a number as a float, and what is none as it is, to be refused later."""
    return float(value) if is_number(value) else value


def object_fields(field: str, obj: object) -> Mapping[str, Any]:
    """Return the fields of a JSON object; anything else is refused."""
    if not isinstance(obj, Mapping) or not all(isinstance(name, str) for name in obj):
        raise QueryError(field, "is no JSON object")
    return obj


def refuse_unknown(fields: Mapping[str, Any], known: Sequence[str], inside: str = "") -> None:
    """Refuse a field that is not among `known`; `inside` is what its path begins with."""
    for name in fields:
        if name not in known:
            raise QueryError(inside + name, f"is unknown: one of {', '.join(known)}")


def given_fields(path: str, obj: object, known: Sequence[str], required: Sequence[str] = ()) -> dict[str, Any]:
    """Return the fields of a JSON object; refuse one not among `known` or null, and the lack of one of `required`."""
    fields = dict(object_fields(path, obj))
    refuse_unknown(fields, known, inside(path, ""))
    for name, value in fields.items():
        if value is None:
            raise QueryError(inside(path, name), "is null: leave it out")
    for name in required:
        if name not in fields:
            raise QueryError(inside(path, name), "is missing")
    return fields


def inside(path: str, name: str) -> str:
    """Return the path of a field of the object at `path`; the query itself is at "query"."""
    return name if path == "query" else f"{path}.{name}"
