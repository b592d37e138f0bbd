"""When members that share clocks occurred, and how slow each clock was, on a grid that closes in on the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.exact_sums import seconds_of
from coincide.constraints.graph import ConstraintGraph
from coincide.constraints.window import Window
from coincide.probability.joint.shifted_tuple import members_by_clock
from coincide.probability.onset_grid import ClockMembers, Interval, OnsetGrid, PlacedError
from coincide.templates.clocked import own_of
from coincide.templates.histogram import Histogram

CELLS = 512  # of the longest of the times told
CELLS_AT_FIRST = 96
ROUNDS = 8  # each looks at less than half of what the one before it did
LEAST_STEP_S = 1e-7
ROUNDING_S = 1e-6
TOLD = (0.05, 0.95)
# Terms of a density, each with a sign, and by how many cells both ends of a stretch move in it.
SIGNS, TOGETHER = np.array([0.5, -0.5, 0.5, -0.5]), ((0, 0), (1, 0), (0, 1), (1, 1))
ANCHOR_SIGNS, OF_ANCHOR, OF_OTHER = np.array([0.5, 0.5]), ((0, 1), (0, 1)), ((1, 0), (0, 1))


@dataclass(frozen=True)
class ClockOffset:
    """How slow the clock of some members was, in seconds, given that their match is one.

    The 5 % and 95 % quantiles bound the central 90 % interval.
    """

    clock: str
    mean_s: float
    std_s: float
    p05_s: float
    p95_s: float


class OnsetOnClocks:
    """The onset of one match, in seconds since its first report, and the offsets of the clocks of its members.

    Templates are those of the members, in role order; a window that is not symmetric has exactly two.
    """

    def __init__(self, templates: Sequence[Histogram], detected_at_us: Sequence[int], window: Window) -> None:
        times_us = np.array(detected_at_us, dtype=np.int64)
        self._reported_s = seconds_of(times_us - times_us[0]).high.tolist()
        self._window = window
        clocks = members_by_clock(templates)
        self._names = [template.clock for template in clocks.values()]
        self._clocks = [
            ClockMembers(
                [self._placed(member, own_of(templates[member])) for member in group],
                template.error,
                self._placed(group[0], template) if len(group) == 1 else None,
            )
            for group, template in clocks.items()
        ]
        on_any = {member for group in clocks for member in group}
        self._others = [self._placed(member, each) for member, each in enumerate(templates) if member not in on_any]

    @cached_property
    def is_possible(self) -> bool:
        """Whether the members can lie in the window at all."""
        onset_s = self._onset_s
        return onset_s[0] <= onset_s[1] and bool(self._grid.onset.mass.any())

    @property
    def moments_s(self) -> tuple[float, float]:
        """Mean and standard deviation of the onset."""
        return self._grid.onset.mean_s, self._grid.onset.std_s

    def quantile_s(self, share: float) -> float:
        """Return the time up to which a share of the mass lies."""
        return self._grid.onset.quantile_s(share)

    def offsets(self) -> list[ClockOffset]:
        """Return how slow each clock was, in the order of its first member."""
        return [
            ClockOffset(name, offset.mean_s, offset.std_s, *map(offset.quantile_s, TOLD))
            for name, offset in zip(self._names, self._grid.offsets, strict=True)
        ]

    def _placed(self, member: int, error: Histogram) -> PlacedError:
        window, reported_s = self._window, self._reported_s[member]
        if window.is_symmetric:
            return PlacedError(error, reported_s, (0.0, window.hi_s), TOGETHER)
        if member == 0:
            return PlacedError(error, reported_s, (0.0, 0.0), OF_ANCHOR)
        return PlacedError(error, reported_s, (window.lo_s, window.hi_s), OF_OTHER)

    @cached_property
    def _onset_s(self) -> Interval:
        """Between which times the onset may be."""
        spans = [each.onset_s for each in self._clocks] + [each.onset_s for each in self._others]
        starts_s, ends_s = zip(*spans, strict=True)
        return max(starts_s) - ROUNDING_S, min(ends_s) + ROUNDING_S

    @cached_property
    def _grid(self) -> OnsetGrid:
        """The finest grid, of the times that are not negligible."""
        onset_s = self._onset_s
        spans = [onset_s, *(each.offset_s(onset_s) for each in self._clocks)]
        for _ in range(ROUNDS):
            grid = self._grid_of(spans, CELLS_AT_FIRST)
            if not grid.onset.mass.any():
                return grid
            closer = [_common(*each) for each in zip(spans, _central(grid), strict=True)]
            is_settled = _longest_s(closer) > _longest_s(spans) / 2
            spans = closer
            if is_settled:
                break
        return self._grid_of(spans, CELLS)

    def _grid_of(self, spans: Sequence[Interval], cells: int) -> OnsetGrid:
        signs = SIGNS if self._window.is_symmetric else ANCHOR_SIGNS
        step_s = max(_longest_s(spans) / cells, LEAST_STEP_S)
        return OnsetGrid(self._clocks, self._others, signs, spans[0], spans[1:], step_s)


def graph_of(members: int, window: Window) -> ConstraintGraph:
    """Return the graph of members all of which are within a window of each other."""
    roles = [f"member {number}" for number in range(members)]
    return ConstraintGraph.path(roles, window) if members == 2 else ConstraintGraph.clique(roles, window)


def _central(grid: OnsetGrid) -> list[Interval]:
    """Return between which times the onset and the offset of each clock are not negligible."""
    return [grid.onset.central_s(), *(each.central_s() for each in grid.offsets)]


def _common(one: Interval, other: Interval) -> Interval:
    start_s = max(one[0], other[0])
    return start_s, max(start_s, min(one[1], other[1]))


def _longest_s(spans: Sequence[Interval]) -> float:
    return max(end - start for start, end in spans)
