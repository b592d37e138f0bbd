"""Attribute groups: detections of one area that have the same value of one attribute, as small codes."""

from __future__ import annotations

import numpy as np

from coincide.arrays import CodeArray
from spark_jobs.attributes import Scalar, attribute, attributes_of

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
