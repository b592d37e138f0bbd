"""Small codes for templates: those that events name, and those of the events in hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from coincide.arrays.key_codes import Codes
from coincide.arrays.kinds import CodeArray, IndexArray, Int64Array
from coincide.templates.clocked import are_clocked
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import FEW_TEMPLATES


class TemplatesInOrder:
    """Templates whose code is their position."""

    def __init__(self, templates: Iterable[Histogram] = ()) -> None:
        self.templates = list(templates)
        self.has_clocks = are_clocked(self.templates)  # or had, before codes were forgotten
        self._known_bounds_us = np.empty((2, 0), np.int64)
        self._all: tuple[Histogram, ...] = ()

    def __len__(self) -> int:
        return len(self.templates)

    def histogram(self, code: int) -> Histogram:
        """Return the template of a code."""
        return self.templates[code]

    def among(self, codes: CodeArray | Int64Array) -> tuple[Sequence[Histogram], IndexArray]:
        """Return templates, those of `codes` among them, and each code's position there; shape (n,).

        As long as there are few templates these are all of them, in one tuple: what is computed of it can be kept.
        """
        if len(self) <= FEW_TEMPLATES:
            if len(self._all) != len(self):
                self._all = tuple(self.templates)
            return self._all, codes.astype(np.int64)
        used, index = np.unique(codes, return_inverse=True)
        return [self.templates[code] for code in used.tolist()], index

    @property
    def earliest_us(self) -> Int64Array:
        """Earliest occurrence of each code, relative to the reported time, rounded down; int64 (codes,)."""
        earliest: Int64Array = self._bounds_us[0]
        return earliest

    @property
    def latest_us(self) -> Int64Array:
        """Latest occurrence of each code, relative to the reported time, rounded up; int64 (codes,)."""
        latest: Int64Array = self._bounds_us[1]
        return latest

    @property
    def _bounds_us(self) -> Int64Array:
        new = self.templates[self._known_bounds_us.shape[1] :]
        if new:
            earliest, latest = [each.earliest_us for each in new], [each.latest_us for each in new]
            self._known_bounds_us = np.concatenate((self._known_bounds_us, np.array((earliest, latest))), axis=1)
        return self._known_bounds_us


class TemplateRegistry(TemplatesInOrder):
    """Templates by code: equal histograms share one. Grows by `codes`, shrinks by `keep_only`."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: Codes[Histogram] = Codes()
        self._last: tuple[Sequence[Histogram], CodeArray] = ((), np.empty(0, np.int32))

    def codes(self, templates: Sequence[Histogram]) -> CodeArray:
        """Return the code of each template, new ones included, int32 (n,)."""
        if templates is self._last[0] and isinstance(templates, tuple):  # as most batches of a stream name the same
            return self._last[1]
        codes = np.array([self._code(template) for template in templates], dtype=np.int32)
        self._last = (templates, codes)
        return codes

    def keep_only(self, used: CodeArray) -> CodeArray:
        """Forget the other codes; return new codes by old code (-1: forgotten). `used` is sorted."""
        new_code = np.full(len(self), -1, np.int32)
        new_code[used] = np.arange(len(used))
        self._known_bounds_us = self._bounds_us[:, used]
        self.templates = [self.templates[code] for code in used]
        self._all = ()
        self._codes = Codes(self.templates)
        self._last = ((), np.empty(0, np.int32))
        return new_code

    @property
    def greatest_length_us(self) -> int:
        """Greatest time from earliest to latest of all templates; 0 if there are none."""
        return int((self.latest_us - self.earliest_us).max(initial=0))

    def _code(self, template: Histogram) -> int:
        code = self._codes.code(template)
        if code == len(self):
            self.templates.append(template)
            self.has_clocks |= are_clocked([template])
        return code
