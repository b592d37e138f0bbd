"""What every query may name: itself, streams, attributes. A refusal names the field and what is allowed."""

from __future__ import annotations

from coincide.errors import QueryError
from coincide.stream import LONGEST_NAME, NAME, NAME_IN_WORDS

ATTRIBUTES = "attributes."


def attribute_path(name: str) -> str:
    """Return what a query writes for an attribute of this name."""
    return ATTRIBUTES + name


def attribute_name(path: str) -> str:
    """Return the name of an attribute that a query writes so."""
    return path.removeprefix(ATTRIBUTES)


def refuse_unless_name(field: str, name: object) -> None:
    """Refuse what is no name of a query or stream."""
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise QueryError(field, f"is {name!r}: {NAME_IN_WORDS}")


def refuse_unless_attribute(field: str, name: object) -> None:
    """Refuse what names no attribute."""
    longest = len(ATTRIBUTES) + LONGEST_NAME
    if not isinstance(name, str) or not name.startswith(ATTRIBUTES) or not len(ATTRIBUTES) < len(name) <= longest:
        raise QueryError(field, f"is {name!r}: 'attributes.' and the name of one, at most {LONGEST_NAME} characters")
