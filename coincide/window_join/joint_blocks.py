"""TupleBlock: tuples whose templates have the same shapes, a cacheful at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.area_keys import Int64Array
from coincide.exact_sums import ExactSum, seconds_of
from coincide.histogram import Histogram
from coincide.template_pairs import StackedTemplates
from coincide.trapezoids import TemplateColumns


@dataclass(frozen=True, eq=False)
class TupleBlock:
    """Some of the tuples, one per column.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Which tuples.
    templates : list of k TemplateColumns of n columns
    reported : list of k ExactSum of shape (n,)
        Reported times in seconds since the first member's.
    points : frozenset of int
        Members whose times are exact in each of these tuples.
    """

    rows: Int64Array
    templates: list[TemplateColumns]
    reported: list[ExactSum]
    points: frozenset[int]


@dataclass(frozen=True, eq=False)
class Tuples:
    """Tuples of k members each: templates of every role, which of them each member has, and when it was reported.

    Attributes
    ----------
    templates : sequence of k sequences of Histogram
    template_index, detected_at_us : ndarray of int64, shape (k, n)
    """

    templates: Sequence[Sequence[Histogram]]
    template_index: Int64Array
    detected_at_us: Int64Array

    def __len__(self) -> int:
        return int(self.template_index.shape[1])

    def take(self, rows: Int64Array) -> Tuples:
        """Return the tuples at `rows`."""
        return Tuples(self.templates, self.template_index[:, rows], self.detected_at_us[:, rows])

    def blocks(self, elements: int) -> Iterator[TupleBlock]:
        """Yield all tuples, those alike together, as many at a time as have `elements` bucket bounds."""
        stacks = [StackedTemplates(side) for side in self.templates]
        for alike, counts, points in self._alike(stacks):
            step = max(1, elements // sum(count + 1 for count in counts))
            for first in range(0, len(alike), step):
                rows = alike[first : first + step]
                yield TupleBlock(rows, self._columns(stacks, counts, rows), self._reported(rows), points)

    def _alike(self, stacks: Sequence[StackedTemplates]) -> Iterator[tuple[Int64Array, list[int], frozenset[int]]]:
        """Yield tuples with the same numbers of buckets and the same members at exact times."""
        buckets = np.array([stack.buckets[which] for stack, which in zip(stacks, self.template_index, strict=True)])
        is_point = np.array([_points(side)[which] for side, which in zip(self.templates, self.template_index, strict=True)])
        shape = np.zeros(len(self), dtype=np.int64)
        for own, exact in zip(buckets, is_point, strict=True):
            kind = 2 * own + exact
            shape = np.unique(shape * (1 + kind.max(initial=0)) + kind, return_inverse=True)[1]  # stays small
        for each in range(shape.max(initial=-1) + 1):
            alike = np.flatnonzero(shape == each)
            points = frozenset(np.flatnonzero(is_point[:, alike[0]]).tolist())
            yield alike, buckets[:, alike[0]].tolist(), points

    def _columns(
        self, stacks: Sequence[StackedTemplates], counts: Sequence[int], rows: Int64Array
    ) -> list[TemplateColumns]:
        sides = zip(stacks, counts, self.template_index, strict=True)
        return [stack.columns(count, which[rows]) for stack, count, which in sides]

    def _reported(self, rows: Int64Array) -> list[ExactSum]:
        return [seconds_of(own[rows] - self.detected_at_us[0, rows]) for own in self.detected_at_us]


def _points(templates: Sequence[Histogram]) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.array([template.length_s == 0 for template in templates], dtype=np.bool_)
