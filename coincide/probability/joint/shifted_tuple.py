"""ShiftedTuple: one tuple whose members' clocks are set to many offsets at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from coincide.arrays.exact_sums import ExactSum, seconds_of
from coincide.arrays.kinds import BoolArray, CodeArray, IndexArray
from coincide.constraints.graph import ConstraintGraph
from coincide.probability.joint.conditioning import exact_s
from coincide.probability.joint.member_links import Links
from coincide.probability.joint.placed_members import PlacedMember, moved
from coincide.probability.joint.tuples import EventTuples, TupleBlock
from coincide.templates.clocked import ClockedHistogram, clock_of
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplateColumns

SLACK_US = 16  # each window of a path is rounded to a microsecond
NO_CLOCK = -1  # among codes of clocks

Group = tuple[int, ...]
"""Members on one clock."""

Offsets = Mapping[int, ExactSum]
"""Of each member that a clock shifts, by how much, shape (n,)."""


@dataclass(frozen=True, eq=False)
class ShiftedTuple:
    """The members of one tuple: a template each (what is left within a shared clock, or the whole), and their times."""

    graph: ConstraintGraph
    templates: Sequence[Histogram]
    detected_at_us: Sequence[int]

    @cached_property
    def block(self) -> TupleBlock:
        """The tuple as a block of one, with all clocks right."""
        times_us = np.array(self.detected_at_us, dtype=np.int64)[:, None]
        index = np.zeros((len(self.templates), 1), dtype=np.int64)
        [block] = EventTuples([[each] for each in self.templates], index, times_us).blocks()
        return block

    def at(self, offsets: Offsets) -> TupleBlock:
        """Return the tuple at n offsets, one per column."""
        block, count = self.block, len(next(iter(offsets.values())).high)
        column = np.zeros(count, dtype=np.int64)
        reported = [
            moved(each.take(column), offsets[member]) if member in offsets else each.take(column)
            for member, each in enumerate(block.reported)
        ]
        return TupleBlock(np.arange(count), block.shape, [each.take(column) for each in block.templates], reported)

    def bends(self, group: Sequence[int]) -> ExactSum:
        """Return the offsets of a group's clock at which the joint probability may bend, shape (m, 1), in order.

        It is a volume, with the times of all members as coordinates. It bends where a chain of windows, each at an end,
        just joins an edge of one who is shifted and an edge of one who is not.
        """
        members, links, found = self.block.members(), Links.of(self.graph), []
        furthest = self.graph.window_bounds_us
        for a in group:
            for b, sums in links.path_sums(a).items():
                if b not in group:
                    most_us, least_us = int(furthest[a, b]), int(furthest[b, a])  # fractions overflow those of numpy
                    within = (each for each in sums if _is_within(each, most_us, least_us))
                    found += [_apart(members[a], members[b], each) for each in sorted(within)]
        high, low = (np.concatenate([getattr(each, part) for each in found]) for part in ("high", "low"))
        order = np.lexsort((low, high))
        return ExactSum(high[order][:, None], low[order][:, None])

    def possible_s(self, group: Sequence[int]) -> tuple[float, float]:
        """Return between which offsets of a group all windows can hold: they cannot beyond its outermost bends."""
        bends = self.bends(group).high
        return float(bends[0, 0]), float(bends[-1, 0])


def members_by_clock(templates: Sequence[Histogram]) -> dict[Group, ClockedHistogram]:
    """Return who is on each clock, in the order of its first member, and a template of it."""
    clocks = [*map(clock_of, templates)]
    return {
        tuple(other for other, theirs in enumerate(clocks) if theirs == template.clock): template
        for member, template in enumerate(templates)
        if isinstance(template, ClockedHistogram) and clocks.index(template.clock) == member
    }


def shared_errors(templates: Sequence[Histogram]) -> dict[Group, Histogram]:
    """Return the error of each clock on which two members or more are, by who is on it."""
    return {group: each.error for group, each in members_by_clock(templates).items() if len(group) > 1}


def clock_codes(sides: Sequence[Sequence[Histogram]]) -> list[CodeArray]:
    """Return the code of the clock of each template of each side, numbered through all sides; `NO_CLOCK` is none."""
    numbers: dict[str | None, int] = {None: NO_CLOCK}
    return [np.array([numbers.setdefault(clock_of(each), len(numbers)) for each in side], np.int32) for side in sides]


def share_a_clock(codes: CodeArray | IndexArray) -> BoolArray:
    """Whether each member is on the clock of another one of its tuple, by the codes of clocks; shape (k, n)."""
    alike = (codes[:, None] == codes[None]).sum(axis=0)
    shared: BoolArray = (alike > 1) & (codes != NO_CLOCK)
    return shared


def placed(error: Histogram) -> PlacedMember:
    """Return the error of a clock as a member that reports at 0."""
    return PlacedMember.of(TemplateColumns.of([error], len(error.mass)), seconds_of(np.zeros(1, dtype=np.int64)))


def _is_within(seconds: Fraction, most_us: int, least_us: int) -> bool:
    """Whether a time between two members is one that all windows together allow, each rounded to a microsecond."""
    return -least_us - SLACK_US <= seconds * 10**6 <= most_us + SLACK_US


def _apart(a: PlacedMember, b: PlacedMember, seconds: Fraction) -> ExactSum:
    """Return the offsets of `a` at which an edge of `b` is `seconds` after one of `a`."""
    until = moved(b.edges, exact_s(-seconds))
    exact = moved(until, ExactSum(-a.edges.high.T, -a.edges.low.T))
    return ExactSum(exact.high.ravel(), exact.low.ravel())
