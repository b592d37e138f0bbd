"""EventTuples: events whose joint probability is wanted, handed out as blocks of arrays of one shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum, seconds_of
from coincide.arrays.kinds import Int64Array
from coincide.probability.joint.placed_members import PlacedMember
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import StackedTemplates, TemplateColumns, rows_alike

ELEMENTS_PER_BLOCK = 16_384  # bucket bounds times tuples
SPREAD, EXACT, POINT = range(3)  # no exact time, some, nothing else


@dataclass(frozen=True)
class TupleShape:
    """What tuples share to be arrays together: bucket bounds, and who has exact times, or one and nothing else."""

    edges: tuple[int, ...]
    exact: frozenset[int]
    points: frozenset[int]


@dataclass(frozen=True, eq=False)
class TupleBlock:
    """Some tuples (`rows`) of one shape, one per column: templates, and times in seconds since the first member's."""

    rows: Int64Array
    shape: TupleShape
    templates: list[TemplateColumns]
    reported: list[ExactSum]

    def members(self) -> dict[int, PlacedMember]:
        """Return each member's distribution on its tuple's clock."""
        sides = zip(self.templates, self.reported, strict=True)
        return {member: PlacedMember.of(template, reported) for member, (template, reported) in enumerate(sides)}


@dataclass(frozen=True, eq=False)
class EventTuples:
    """n tuples of k members each; the arrays have shape (k, n), and `templates` are those of each role."""

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
        used = self._with_used_templates()
        stacks = [StackedTemplates(side) for side in used.templates]
        for alike, shape in used._alike(stacks):
            step = max(1, ELEMENTS_PER_BLOCK // sum(shape.edges))
            for first in range(0, len(alike), step):
                rows = alike[first : first + step]
                sides = zip(stacks, shape.edges, used.template_index, strict=True)
                columns = [stack.columns(edges - 1, which[rows]) for stack, edges, which in sides]
                reported = [seconds_of(own[rows] - self.detected_at_us[0, rows]) for own in self.detected_at_us]
                yield TupleBlock(rows, shape, columns, reported)

    def _with_used_templates(self) -> EventTuples:
        used, index = zip(*(np.unique(which, return_inverse=True) for which in self.template_index), strict=True)
        templates = [[side[one] for one in own] for side, own in zip(self.templates, used, strict=True)]
        return EventTuples(templates, np.array(index), self.detected_at_us)

    def _alike(self, stacks: Sequence[StackedTemplates]) -> Iterator[tuple[Int64Array, TupleShape]]:
        buckets = np.array([stack.buckets[which] for stack, which in zip(stacks, self.template_index, strict=True)])
        kinds = np.array([_kinds(side)[which] for side, which in zip(self.templates, self.template_index, strict=True)])
        for alike in rows_alike([*buckets, *kinds]):
            edges, kind = buckets[:, alike[0]] + 1, kinds[:, alike[0]]
            exact, points = (frozenset(np.flatnonzero(kind >= least).tolist()) for least in (EXACT, POINT))
            yield alike, TupleShape(tuple(edges.tolist()), exact, points)


def _kinds(templates: Sequence[Histogram]) -> Int64Array:
    def kind(template: Histogram) -> int:
        if template.length_s == 0:
            return POINT
        return EXACT if (template.mass[np.diff(template.edges_s) == 0] > 0).any() else SPREAD

    return np.array([kind(template) for template in templates], dtype=np.int64)
