"""EventTuples: events whose joint probability is wanted, handed out as blocks of arrays of one shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.area_keys import Int64Array
from coincide.exact_sums import ExactSum, seconds_of
from coincide.histogram import Histogram
from coincide.template_pairs import StackedTemplates
from coincide.trapezoids import TemplateColumns
from coincide.window_join.joint_members import PlacedMember

ELEMENTS_PER_BLOCK = 16_384  # bucket bounds times tuples


@dataclass(frozen=True, eq=False)
class TupleBlock:
    """Some tuples whose templates have the same shapes, one per column.

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

    @property
    def edge_counts(self) -> dict[int, int]:
        """Number of bucket bounds of each member."""
        return {member: len(template.edges_s) for member, template in enumerate(self.templates)}

    def members(self) -> dict[int, PlacedMember]:
        """Return each member's distribution on its tuple's clock."""
        sides = zip(self.templates, self.reported, strict=True)
        return {member: PlacedMember.of(template, reported) for member, (template, reported) in enumerate(sides)}


@dataclass(frozen=True, eq=False)
class EventTuples:
    """n tuples of k members each.

    Attributes
    ----------
    templates : sequence of k sequences of Histogram
        Templates of each role.
    template_index : ndarray of int64, shape (k, n)
        Which template of its role each member has.
    detected_at_us : ndarray of int64, shape (k, n)
    """

    templates: Sequence[Sequence[Histogram]]
    template_index: Int64Array
    detected_at_us: Int64Array

    def __len__(self) -> int:
        return int(self.template_index.shape[1])

    def take(self, rows: Int64Array) -> EventTuples:
        """Return the tuples at `rows`."""
        return EventTuples(self.templates, self.template_index[:, rows], self.detected_at_us[:, rows])

    def blocks(self) -> Iterator[TupleBlock]:
        """Yield all tuples, a bounded number of those alike at a time."""
        stacks = [StackedTemplates(side) for side in self.templates]
        for alike, counts, points in self._alike(stacks):
            step = max(1, ELEMENTS_PER_BLOCK // sum(count + 1 for count in counts))
            for first in range(0, len(alike), step):
                rows = alike[first : first + step]
                sides = zip(stacks, counts, self.template_index, strict=True)
                columns = [stack.columns(count, which[rows]) for stack, count, which in sides]
                reported = [seconds_of(own[rows] - self.detected_at_us[0, rows]) for own in self.detected_at_us]
                yield TupleBlock(rows, columns, reported, points)

    def _alike(self, stacks: Sequence[StackedTemplates]) -> Iterator[tuple[Int64Array, list[int], frozenset[int]]]:
        """Yield tuples with the same numbers of buckets and the same members at exact times."""
        buckets = np.array([stack.buckets[which] for stack, which in zip(stacks, self.template_index, strict=True)])
        points = np.array([_is_point(s)[which] for s, which in zip(self.templates, self.template_index, strict=True)])
        shape = np.zeros(len(self), dtype=np.int64)
        for kind in 2 * buckets + points:  # numbered anew each time, so that the numbers stay small
            shape = np.unique(shape * (1 + kind.max(initial=0)) + kind, return_inverse=True)[1]
        for number in range(shape.max(initial=-1) + 1):
            alike = np.flatnonzero(shape == number)
            one = alike[0]
            yield alike, buckets[:, one].tolist(), frozenset(np.flatnonzero(points[:, one]).tolist())


def _is_point(templates: Sequence[Histogram]) -> npt.NDArray[np.bool_]:
    return np.array([template.length_s == 0 for template in templates], dtype=np.bool_)
