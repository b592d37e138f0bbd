"""The slow twin of coincide.probability.onset_on_clocks: a mixture over cells of the offsets of all clocks together.

Once the errors of all clocks are fixed, members are independent, and the library's posterior of the onset holds in each
cell. Mean, spread and quantiles are right to about the length of a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.constraints.window import Window
from coincide.probability.joint.clock_nodes import ClockCells, cells_of, every_combination
from coincide.probability.joint.shifted_tuple import Group, ShiftedTuple, members_by_clock
from coincide.probability.joint.tuples import TupleBlock
from coincide.probability.onset_on_clocks import ClockOffset, graph_of
from coincide.probability.onset_pieces import PosteriorPieces
from coincide.probability.onset_terms import Members
from coincide.templates.clocked import own_of
from coincide.templates.histogram import Histogram

MOST_CELLS = 1_024  # of a clock alone
MOST_CELLS_OF_SEVERAL = 16_384  # of all clocks together
TOLD = (0.05, 0.95)
SHARES = np.union1d(np.clip(np.linspace(0.0, 1.0, 33), 1e-9, 1 - 1e-9), TOLD)  # of each cell's onset, to mix them
HALVINGS = 32  # of the time in which the onset may be: to 1e-9 of it


class OnsetOnClocks:
    """The onset of one match in each cell of its clocks' offsets, shape (n,), in seconds since its first report.

    Templates are those of the members, in role order; a window that is not symmetric has exactly two.
    """

    def __init__(self, templates: Sequence[Histogram], detected_at_us: Sequence[int], window: Window) -> None:
        self._members = ShiftedTuple(graph_of(len(templates), window), [*map(own_of, templates)], detected_at_us)
        self._window = window
        self._errors = members_by_clock(templates)
        clocks = len(self._errors)
        count = MOST_CELLS if clocks == 1 else int(MOST_CELLS_OF_SEVERAL ** (1 / clocks))
        self._cells: dict[Group, ClockCells] = {
            group: cells_of(template.error, self._possible_s(group), count) for group, template in self._errors.items()
        }
        numbers = every_combination([len(each.weight) for each in self._cells.values()])
        which: Mapping[Group, Int64Array] = dict(zip(self._cells, numbers, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            onsets = self._onsets(which)
        found = np.flatnonzero(onsets.weight > 0)
        self._onsets_of_cells = onsets.take(found)
        self._which = {group: own[found] for group, own in which.items()}

    @property
    def is_possible(self) -> bool:
        """Whether the members can lie in the window at all."""
        return len(self._onsets_of_cells.weight) > 0

    @cached_property
    def moments_s(self) -> tuple[float, float]:
        """Mean and standard deviation of the onset."""
        of = self._onsets_of_cells
        mean = float(self._share @ of.mean_s)
        return mean, float(np.sqrt(self._share @ (of.std_s**2 + (of.mean_s - mean) ** 2)))

    def quantile_s(self, share: float) -> float:
        """Return the time up to which a share of the mass lies."""
        quantiles_s = self._onsets_of_cells.quantiles_s
        low, high = float(quantiles_s.min()), float(quantiles_s.max())
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._up_to(middle) < share else (low, middle)
        return high

    def offsets(self) -> list[ClockOffset]:
        """Return how slow each clock was, in the order of its first member."""
        return [
            _offset(template.clock, self._cells[group], self._which[group], self._share)
            for group, template in self._errors.items()
        ]

    def _possible_s(self, group: Group) -> tuple[float, float]:
        if len(group) == len(self._members.templates) or len(self._errors) > 1:
            return -np.inf, np.inf
        return self._members.possible_s(group)

    @cached_property
    def _share(self) -> FloatArray:
        """Probability of each cell, given the match."""
        weight = self._onsets_of_cells.weight
        share: FloatArray = weight / weight.sum()
        return share

    def _onsets(self, which: Mapping[Group, Int64Array]) -> _Onsets:
        prior: FloatArray = np.prod([self._cells[group].weight[own] for group, own in which.items()], axis=0)
        if len(next(iter(self._errors))) < len(self._members.templates):
            offsets = {
                member: self._cells[group].nodes.offset.take(own) for group, own in which.items() for member in group
            }
            return _Onsets.of(self._members.at(offsets), self._window, prior)
        [cells] = self._cells.values()  # all are on it: it moves the onset of their own errors
        alike = np.zeros(len(prior), dtype=np.int64)
        return _Onsets.of(self._members.block, self._window, np.ones(1)).take(alike).later(cells, prior)

    def _up_to(self, time_s: float) -> float:
        edges = self._onsets_of_cells.quantiles_s
        last = np.clip((edges <= time_s).sum(axis=0) - 1, 0, len(SHARES) - 2)
        start, end = (np.take_along_axis(edges, each[None], axis=0)[0] for each in (last, last + 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            into = np.where(end > start, np.clip((time_s - start) / (end - start), 0.0, 1.0), time_s >= start)
        return float(self._share @ (SHARES[last] + into * np.diff(SHARES)[last]))


@dataclass(frozen=True, eq=False)
class _Onsets:
    """Onsets in cells, shape (n,), with the probability of each cell and of the match in it; quantiles at `SHARES`."""

    weight: FloatArray
    mean_s: FloatArray
    std_s: FloatArray
    quantiles_s: FloatArray

    @classmethod
    def of(cls, block: TupleBlock, window: Window, prior: FloatArray) -> _Onsets:
        """Return the onsets of tuples whose members are independent."""
        pieces = PosteriorPieces(Members(block.templates, block.reported, window))
        return cls(prior * pieces.mass, pieces.mean_s, pieces.std_s, pieces.quantiles_s(*SHARES.tolist()))

    def take(self, cells: Int64Array) -> _Onsets:
        """Return the chosen cells."""
        return _Onsets(self.weight[cells], self.mean_s[cells], self.std_s[cells], self.quantiles_s[:, cells])

    def later(self, cells: ClockCells, prior: FloatArray) -> _Onsets:
        """Return each onset as much later as its cell lies."""
        std_s: FloatArray = np.hypot(self.std_s, cells.width_s / 12**0.5)
        return _Onsets(prior * self.weight, self.mean_s + cells.middle_s, std_s, self.quantiles_s + cells.middle_s)


def _offset(clock: str, cells: ClockCells, which: Int64Array, of_onsets: FloatArray) -> ClockOffset:
    share = np.zeros(len(cells.weight))
    np.add.at(share, which, of_onsets)
    mean = float(share @ cells.middle_s)
    variance = float(share @ ((cells.middle_s - mean) ** 2 + cells.width_s**2 / 12))
    p05, p95 = (_quantile(cells, share, each) for each in TOLD)
    return ClockOffset(clock, mean, float(np.sqrt(variance)), p05, p95)


def _quantile(cells: ClockCells, share: FloatArray, p: float) -> float:
    order = np.argsort(cells.middle_s, kind="stable")
    up_to = np.cumsum(share[order])
    place = min(int(np.searchsorted(up_to, p * up_to[-1])), len(order) - 1)
    cell = order[place]
    missing = up_to[place] - p * up_to[-1]
    into = 1.0 - (missing / share[cell] if share[cell] > 0 else 0.0)
    return float(cells.middle_s[cell] + (into - 0.5) * cells.width_s[cell])
