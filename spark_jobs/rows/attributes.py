"""Attributes: what a detection says of one of them, and detections that say the same of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Raw, json

from coincide.arrays.kinds import CodeArray
from coincide.queries.checks import ATTRIBUTES
from spark_jobs.rows.decoding import UNREADABLE

Scalar = str | int | float | bool


def attributes_of(attributes: bytes) -> Mapping[str, Raw]:
    """Return the attributes of a detection by name, each as it was written."""
    return {} if attributes == b"{}" else _decoder.decode(attributes)


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


_decoder = json.Decoder(dict[str, Raw])


NO_GROUP = -1


class AttributeGroups:
    """Codes of (area, value of `equal`); equal are JSON's strings, numbers by what they are worth, true and false."""

    def __init__(self, equal: str) -> None:
        self._equal = equal
        self._code_of: dict[tuple[int, bool, object], int] = {}

    def codes(self, area: CodeArray, attributes: list[bytes]) -> CodeArray:
        """Return the group of each detection, int32 (n,); `NO_GROUP` for those that have no such value."""
        pairs = zip(area.tolist(), attributes, strict=True)
        return np.array([self._code(code, content) for code, content in pairs], np.int32)

    def _code(self, area: int, attributes: bytes) -> int:
        value = attribute(attributes_of(attributes), self._equal)
        if not isinstance(value, Scalar):
            return NO_GROUP
        return self._code_of.setdefault((area, isinstance(value, bool), value), len(self._code_of))
