"""Attributes: what a detection says of one of them; intake has seen that they are a JSON object, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, json

from coincide.query_checks import ATTRIBUTES
from spark_jobs.frames import UNREADABLE

Scalar = str | int | float | bool


def attributes_of(attributes: bytes) -> Mapping[str, Raw]:
    """Return the attributes of a detection by name, each as it was written."""
    return {} if attributes == b"{}" else _decoder.decode(attributes)


def attribute(attributes: Mapping[str, Raw], name: str) -> Any:
    """Return the value of an attribute; None where there is none, or a number that is none.

    Parameters
    ----------
    attributes : mapping of str to Raw
    name : str
        With or without "attributes." before it.

    Examples
    --------
    >>> content = attributes_of(b'{"object":7.0,"far":1e999}')
    >>> attribute(content, "attributes.object"), attribute(content, "far"), attribute(content, "near")
    (7.0, None, None)
    """
    value = attributes.get(name.removeprefix(ATTRIBUTES))
    try:
        return None if value is None else json.decode(value)
    except UNREADABLE:
        return None


def as_read(value: Scalar) -> Scalar:
    """Return a whole number as an int, so that 7 and 7.0 are written alike."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_decoder = json.Decoder(dict[str, Raw])
