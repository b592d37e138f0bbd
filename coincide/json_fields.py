"""Fields of JSON objects: every refusal names the field by its whole path, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coincide.errors import QueryError


def is_number(value: object) -> bool:
    """Whether `value` is an int or float, finite, of any sane size; a bool is none."""
    return not isinstance(value, bool) and isinstance(value, int | float) and -1e300 < value < 1e300


def refuse_unless_probability(field: str, value: object) -> None:
    """Refuse what is no number above 0 and at most 1."""
    if not is_number(value) or not 0 < value <= 1:  # type: ignore[operator]
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
