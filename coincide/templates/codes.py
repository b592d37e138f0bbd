"""Small codes for templates: those that events name, and those of the events in hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.templates.histogram import Histogram


class CodedTemplates(Protocol):
    """Templates by code, with their bounds in arrays by code."""

    def histogram(self, code: int) -> Histogram:
        """Return the template of a code."""

    @property
    def earliest_us(self) -> Int64Array:
        """Earliest occurrence of each code, relative to the reported time, rounded down."""

    @property
    def latest_us(self) -> Int64Array:
        """Latest occurrence of each code, relative to the reported time, rounded up."""


class TemplatesInOrder:
    """A frame's templates: the code of each is its position."""

    def __init__(self, templates: Sequence[Histogram]) -> None:
        self._templates = templates
        self._earliest_us = np.array([template.earliest_us for template in templates], dtype=np.int64)
        self._latest_us = np.array([template.latest_us for template in templates], dtype=np.int64)

    def histogram(self, code: int) -> Histogram:
        """Return the template at a position."""
        return self._templates[code]

    @property
    def earliest_us(self) -> Int64Array:
        """Earliest occurrence of each template, relative to the reported time, rounded down."""
        return self._earliest_us

    @property
    def latest_us(self) -> Int64Array:
        """Latest occurrence of each template, relative to the reported time, rounded up."""
        return self._latest_us


SMALLEST_CAPACITY = 16


class TemplateRegistry:
    """Templates by code: equal histograms share one. Grows by `codes`, shrinks by `keep_only`.

    Attributes
    ----------
    templates : list of Histogram
        By code.

    Examples
    --------
    >>> registry = TemplateRegistry()
    >>> registry.codes([Histogram.point(), Histogram.uniform(0, 1), Histogram.point()]).tolist()
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self.templates: list[Histogram] = []
        self._code_of: dict[Histogram, int] = {}
        self._last: tuple[Sequence[Histogram], CodeArray] = ((), np.empty(0, np.int32))
        self._bounds = np.zeros((2, SMALLEST_CAPACITY), np.int64)

    def __len__(self) -> int:
        return len(self.templates)

    def codes(self, templates: Sequence[Histogram]) -> CodeArray:
        """Return the code of each template, new ones included, int32 (n,)."""
        if templates is self._last[0] and isinstance(templates, tuple):
            return self._last[1]
        codes = np.array([self._code(template) for template in templates], dtype=np.int32)
        self._last = (templates, codes)
        return codes

    def keep_only(self, used: CodeArray) -> CodeArray:
        """Forget the other codes; return new codes by old code (-1: forgotten). `used` is sorted."""
        new_code = np.full(len(self), -1, np.int32)
        new_code[used] = np.arange(len(used))
        self.templates = [self.templates[code] for code in used]
        self._code_of = {template: code for code, template in enumerate(self.templates)}
        self._bounds = np.concatenate((self._bounds[:, used], np.zeros((2, SMALLEST_CAPACITY), np.int64)), axis=1)
        self._last = ((), np.empty(0, np.int32))
        return new_code

    @property
    def greatest_latest_us(self) -> int:
        """Latest possible occurrence over all templates, relative to the reported time; 0 if there are none."""
        return int(self.latest_us.max()) if self.templates else 0

    @property
    def earliest_us(self) -> Int64Array:
        """Earliest occurrence of each code, relative to the reported time, rounded down; int64 (codes,)."""
        earliest: Int64Array = self._bounds[0, : len(self)]
        return earliest

    @property
    def latest_us(self) -> Int64Array:
        """Latest occurrence of each code, relative to the reported time, rounded up; int64 (codes,)."""
        latest: Int64Array = self._bounds[1, : len(self)]
        return latest

    def histogram(self, code: int) -> Histogram:
        """Return the template of a code."""
        return self.templates[code]

    def _code(self, template: Histogram) -> int:
        code = self._code_of.setdefault(template, len(self.templates))
        if code == len(self.templates):
            self.templates.append(template)
            if code == self._bounds.shape[1]:
                self._bounds = np.concatenate((self._bounds, np.zeros_like(self._bounds)), axis=1)
            self._bounds[:, code] = template.earliest_us, template.latest_us
        return code
