"""Attribute groups: detections of one area that have the same value of one attribute, as small codes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from msgspec import Raw, json

from coincide.arrays import CodeArray
from coincide.query_checks import ATTRIBUTES
from spark_jobs.frames import UNREADABLE

NO_GROUP = -1


class AttributeGroups:
    """Codes of (area, value); equal are JSON's strings, numbers by what they are worth, true and false.

    Parameters
    ----------
    equal : str
        "attributes." and the name, as a query says it.

    Examples
    --------
    >>> groups = AttributeGroups("attributes.object")
    >>> one_area = np.zeros(4, np.int32)
    >>> groups.codes(one_area, [b'{"object":7}', b'{"object":7.0}', b'{"object":"7"}', b'{"object":null}']).tolist()
    [0, 0, 1, -1]
    """

    def __init__(self, equal: str) -> None:
        self._name = equal.removeprefix(ATTRIBUTES)
        self._code_of: dict[tuple[int, bool, object], int] = {}

    def codes(self, area: CodeArray, attributes: list[bytes]) -> CodeArray:
        """Return the group of each detection, int32 (n,); `NO_GROUP` for those that have no such value."""
        pairs = zip(area.tolist(), attributes, strict=True)
        return np.array([self._code(code, content) for code, content in pairs], np.int32)

    def _code(self, area: int, attributes: bytes) -> int:
        value = self._value(attributes)
        if not isinstance(value, str | int | float):
            return NO_GROUP
        return self._code_of.setdefault((area, isinstance(value, bool), value), len(self._code_of))

    def _value(self, attributes: bytes) -> Any:
        if attributes == b"{}":
            return None
        content = _decoder.decode(attributes).get(self._name)
        try:
            return None if content is None else json.decode(content)
        except UNREADABLE:  # a number that is none: intake does not look into values
            return None


_decoder = msgspec.json.Decoder(dict[str, Raw])
