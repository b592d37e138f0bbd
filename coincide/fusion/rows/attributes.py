"""Attributes of a detection: a JSON object as it was written, read only where a query asks for it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Raw, json

from coincide.queries.fields.checks import ATTRIBUTES
from coincide.wire.fields import UNREADABLE, Scalar

NO_ATTRIBUTES = b"{}"
OBJECT_BEGINS = ord("{")
SHORTEST_HUGE = 309  # digits of a number beyond 64-bit floats that has no exponent

_decoder = json.Decoder(dict[str, Raw])
_objects_decoder = json.Decoder(list[dict[str, object]])


def are_usable(column: Sequence[bytes], most_bytes: int) -> bool:
    """Whether all of a column, each valid JSON, are objects of at most so many bytes whose numbers fit 64 bits."""
    sizes = np.fromiter(map(len, column), np.int64, len(column))
    longest = int(sizes.max(initial=0))
    if longest > most_bytes:
        return False
    text = np.frombuffer(b"".join(column), np.uint8)
    if (text[np.cumsum(sizes) - sizes] != OBJECT_BEGINS).any():
        return False
    return (longest < SHORTEST_HUGE and not _may_have_exponents(text)) or _have_numbers_that_fit(column)


def _may_have_exponents(text: npt.NDArray[np.uint8]) -> bool:
    """Whether a digit is followed by an e, in a number or in a string."""
    is_e = (text[1:] | 0x20) == ord("e")
    return bool((is_e & (text[:-1] - np.uint8(ord("0")) < 10)).any())


def _have_numbers_that_fit(column: Sequence[bytes]) -> bool:
    try:
        _objects_decoder.decode(b"[%s]" % b",".join(column))
    except UNREADABLE:
        return False
    return True


def attributes_of(attributes: bytes) -> Mapping[str, Raw]:
    """Return the attributes of a detection by name, each as it was written."""
    return {} if attributes == NO_ATTRIBUTES else _decoder.decode(attributes)


def attribute(attributes: Mapping[str, Raw], name: str) -> Any:
    """Return an attribute, named with or without "attributes."; None where there is none, or a number that is none."""
    value = attributes.get(name.removeprefix(ATTRIBUTES))
    try:
        return None if value is None else json.decode(value)
    except UNREADABLE:
        return None


def as_read(value: Scalar) -> Scalar:
    """Return a whole number as an int, so that 7 and 7.0 are written alike."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
