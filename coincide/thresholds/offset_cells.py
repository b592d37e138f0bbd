"""Offset cells: how probable a match is at evenly spaced offsets, for every threshold at once.

A search for the exact offsets (`coincide.offsets`) answers for one threshold. Cells answer for all, nearly: the length
of the offsets that reach a threshold is off by half a cell at each of its ends. Their probabilities also bound what is
attainable. Both parts of P fall in the offset o, so between offsets a < b P is at most F(hi - a) - F(lo - b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.constraints.window import MICROSECONDS_PER_SECOND, Window
from coincide.offsets.bends import CdfsAtEnds
from coincide.offsets.long_windows import least_probability
from coincide.templates.template_columns import TemplatePairs

ELEMENTS_PER_BLOCK = 65_536  # bucket pairs times template pairs
SORTED = 5.0  # bucket pairs of work for each bend of the cdf, and for each cell
TERMS_BESIDES = 25.0
SURE = -1.0  # a probability that is never in doubt, so that only atoms take exact sums


@dataclass(frozen=True, eq=False)
class OffsetCells:
    """The possible offsets of n template pairs in m cells each, even to the microsecond; some are empty where few fit.

    Attributes
    ----------
    first_us, span_us : ndarray of int64, shape (n,)
        The least possible offset, and how many microseconds of offsets there are.
    probability : ndarray of float64, shape (n, m)
        P at the middle of each cell, less than 1e-9 too much.
    at_least, at_most : ndarray of float64, shape (n,)
        Bounds of what each pair attains.
    """

    first_us: Int64Array
    span_us: Int64Array
    probability: FloatArray
    at_least: FloatArray
    at_most: FloatArray

    @classmethod
    def of(cls, pairs: TemplatePairs, window: Window, cells: int) -> OffsetCells:
        """Look at every pair at the middles of so many cells.

        Examples
        --------
        Two clocks up to 1 s off: within 1 s of each other with 3/4 at most, and with a half at least in 2 s of offsets.

        >>> from coincide.templates.histogram import Histogram
        >>> clock, only = [Histogram.uniform(-1, 1)], np.zeros(1, np.int64)
        >>> cells = OffsetCells.of(TemplatePairs(clock, clock, only, only), Window(1), 1024)
        >>> bool(cells.at_least[0] <= 0.75 <= cells.at_most[0] < 0.76), cells.lengths_s(0.5).round(1).tolist()
        (True, [2.0])
        """
        if window.is_open:  # it can always be met: one offset stands for all
            one, every = np.ones(len(pairs), np.int64), np.ones((len(pairs), cells))
            return cls(one, one, every, every[:, 0], every[:, 0])
        first_us = np.floor((window.lo_s - pairs.latest_s().high) * MICROSECONDS_PER_SECOND).astype(np.int64)
        last_us = np.ceil((window.hi_s - pairs.earliest_s().high) * MICROSECONDS_PER_SECOND).astype(np.int64)
        span_us = last_us - first_us + 1
        probability = np.empty((len(pairs), cells))
        at_least, at_most = np.empty(len(pairs)), np.empty(len(pairs))
        edges_us = _edges_us(span_us, cells)
        middles_us = first_us[:, None] + edges_us[:, :-1] + np.maximum(np.diff(edges_us) - 1, 0) // 2
        for block, u, v in pairs.blocks(ELEMENTS_PER_BLOCK):
            ends = CdfsAtEnds(u, v, window, np.full(len(block), SURE))
            pair = np.repeat(np.arange(len(block)), cells)
            at_hi, at_lo = ends.at(pair, middles_us[block].ravel()).reshape(2, len(block), cells)
            error = ends.error[:, None]
            probability[block] = np.clip(at_hi - at_lo + error, 0.0, 1.0)
            at_least[block] = np.clip((at_hi - at_lo - 2 * error).max(axis=1), 0.0, 1.0)
            bounds = np.pad(at_hi, ((0, 0), (1, 0)), constant_values=1.0) - np.pad(at_lo, ((0, 0), (0, 1)))
            at_most[block] = np.clip((bounds + 2 * error).max(axis=1), 0.0, 1.0)
        return cls(first_us, span_us, probability, at_least, at_most)

    @classmethod
    def concatenated(cls, parts: Sequence[OffsetCells]) -> OffsetCells:
        """Put pairs with equally many cells one after the other."""
        names = [each.name for each in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __len__(self) -> int:
        return len(self.first_us)

    def take(self, rows: IndexArray) -> OffsetCells:
        """Return some of the pairs."""
        return OffsetCells(*(getattr(self, each.name)[rows] for each in fields(self)))

    @cached_property
    def width_s(self) -> FloatArray:
        """How long each cell is, shape (n, m)."""
        width_s: FloatArray = np.diff(self.edges_us()) / MICROSECONDS_PER_SECOND
        return width_s

    def edges_us(self) -> Int64Array:
        """Return where the cells of each pair begin and end, counted from the least offset, shape (n, m + 1)."""
        return _edges_us(self.span_us, self.probability.shape[1])

    def reach(self, threshold: float) -> BoolArray:
        """Whether the middle of each cell reaches the threshold, shape (n, m); an empty cell's may, too."""
        reaches: BoolArray = self.probability >= least_probability(threshold)
        return reaches

    def lengths_s(self, threshold: float) -> FloatArray:
        """How many seconds of offsets reach the threshold, shape (n,)."""
        lengths: FloatArray = (self.width_s * self.reach(threshold)).sum(axis=1)
        return lengths

    def at(self, pair: IndexArray, offset_us: Int64Array) -> FloatArray:
        """P at the middle of the cell in which each offset of a pair lies, shape (k,); 0 beyond the possible ones."""
        into_us, cells = offset_us - self.first_us[pair], self.probability.shape[1]
        is_possible = (into_us >= 0) & (into_us < self.span_us[pair])
        cell = np.where(is_possible, (into_us + 0.5) / self.span_us[pair] * cells, 0.0).astype(np.int64)
        return np.where(is_possible, self.probability[pair, np.minimum(cell, cells - 1)], 0.0)


def cells_work(pairs: TemplatePairs, cells: int) -> FloatArray:
    """Work of so many cells of each pair in bucket pairs of about 20 ns, shape (n,)."""
    u, v = (np.array([len(each.mass) for each in side], np.float64) for side in (pairs.us, pairs.vs))
    u_atoms, v_atoms = (
        np.array([not np.diff(each.edges_s).all() for each in side], np.bool_) for side in (pairs.us, pairs.vs)
    )
    terms = u[pairs.u_index] * v[pairs.v_index]
    exact = u_atoms[pairs.u_index] | v_atoms[pairs.v_index]
    return np.where(exact, 2.0 * cells * (TERMS_BESIDES + terms), SORTED * (terms + cells))


def _edges_us(span_us: Int64Array, cells: int) -> Int64Array:
    """Where the cells of each pair begin and end, from 0 to its span, shape (n, m + 1)."""
    nth = np.arange(cells + 1)
    whole, rest = np.divmod(span_us[:, None], cells)
    edges_us: Int64Array = nth * whole + nth * rest // cells
    return edges_us
