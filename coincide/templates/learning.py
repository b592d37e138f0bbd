"""Bayesian blocks: of all histograms of some samples the most likely one, with no more buckets than they speak for.

A bucket of n samples and length T contributes n (log n - log T), the log-likelihood of its density, and costs a
constant, so that it must be worth it. Dynamic programming finds the best of all choices of edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray
from coincide.errors import HistogramError
from coincide.templates.buckets import FURTHEST_EDGE_S, refuse_unless_count_of_buckets

LEAST_SAMPLES = 30  # the next one lies outside the range of n with probability 2 / (n + 1): 1 in 16
SHORTEST_CELL_S = 2e-6
NEEDLESS_BUCKET = 0.05  # probability that samples of a uniform distribution are given one


def bayesian_blocks(samples_s: Sequence[float] | FloatArray, buckets: int) -> tuple[FloatArray, FloatArray]:
    """Return edges, shape (k + 1,), and masses, shape (k,), with 1 <= k <= `buckets`; see `Histogram.from_samples`.

    Equations 19 and 21 of Scargle, Norris, Jackson, Chiang: Studies in Astronomical Time Series Analysis VI (2013).
    """
    refuse_unless_count_of_buckets(buckets)
    ordered = np.sort(checked_samples(samples_s, LEAST_SAMPLES))
    if ordered[-1] - ordered[0] < SHORTEST_CELL_S:
        return ordered[[len(ordered) // 2] * 2], np.ones(1)
    cells = SampleCells.of(ordered, buckets)
    blocks = _best_blocks(cells, buckets, _cost_of_a_bucket(len(ordered)))
    return cells.edges_s[blocks], np.diff(cells.samples_below[blocks]) / len(ordered)


def checked_samples(samples_s: Sequence[float] | FloatArray, least: int) -> FloatArray:
    """Return the samples as floats if they are finite, within reach and at least so many."""
    try:
        samples = np.asarray(samples_s)
    except ValueError:
        samples = np.empty((0, 0))
    if samples.ndim != 1 or (samples.dtype.kind not in "iuf" and len(samples)):
        raise _no_flat_list_of_numbers(samples_s)
    if len(samples) < least:
        raise HistogramError("samples_s", samples.tolist(), f"at least {least} samples; there are {len(samples)}")
    unusable = np.flatnonzero(~(np.abs(samples) <= FURTHEST_EDGE_S))  # "not <=" also finds NaN
    if len(unusable):
        allowed = f"finite and at most {FURTHEST_EDGE_S:g} s either way"
        raise HistogramError(f"samples_s[{unusable[0]}]", float(samples[unusable[0]]), allowed)
    return samples.astype(np.float64)


def _no_flat_list_of_numbers(samples_s: object) -> HistogramError:
    if isinstance(samples_s, list | tuple):
        for position, sample in enumerate(samples_s):
            if isinstance(sample, bool) or not isinstance(sample, Real):
                return HistogramError(f"samples_s[{position}]", sample, "a number")
    return HistogramError("samples_s", samples_s, "a flat list of numbers")


def _cost_of_a_bucket(samples: int) -> float:
    return 4 - math.log(73.53 * NEEDLESS_BUCKET * samples**-0.478)


def _best_blocks(cells: SampleCells, most: int, cost: float) -> IndexArray:
    """Return the edges, by number, of the blocks of cells whose log-likelihood less cost is greatest."""
    gain = _log_likelihoods(cells) - cost
    edges = len(gain)
    best = np.where(np.arange(edges) == 0, 0.0, -np.inf)
    totals, befores = [], []
    for _ in range(min(most, edges - 1)):
        candidates = best[:, None] + gain
        befores.append(candidates.argmax(axis=0))
        best = candidates.max(axis=0)
        totals.append(best[-1])
    edge, blocks = edges - 1, [edges - 1]
    for before in reversed(befores[: int(np.argmax(totals)) + 1]):
        edge = int(before[edge])
        blocks.append(edge)
    return np.array(blocks[::-1])


def _log_likelihoods(cells: SampleCells) -> FloatArray:
    """Log-likelihood of a block from each edge to each other; -inf where no block can be."""
    count = (cells.samples_below - cells.samples_below[:, None]).astype(np.float64)
    length = cells.edges_s - cells.edges_s[:, None]
    cell = np.arange(len(length))
    is_atom = (length == 0) & (cell == cell[:, None] + 1)
    atoms_before = np.concatenate(([0], np.cumsum(is_atom.any(axis=1)[:-1])))
    has_atom = atoms_before > atoms_before[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(count > 0, count * (np.log(count) - np.log(length)), 0.0)
    possible = (cell > cell[:, None]) & (length > 0) & ~has_atom
    return np.where(is_atom, 0.0, np.where(possible, spread, -np.inf))


CELLS = 256  # equally many samples in each; the search over them is quadratic
CELLS_AT_EITHER_END = 32  # one sample in each, so that outliers cannot stretch a bucket
ATOM_SHARE = 0.05  # an atom is a value with at least this share of the samples
ATOM_EXCESS = 5  # and so many times as many as either neighbouring value: values that are merely rounded have not
FEW_VALUES = 8
LONG_GAP = 10  # or beside so many times the median gap between values: rounded ones lie as far apart as their digits


@dataclass(frozen=True)
class SampleCells:
    """Cell n has samples_below[n + 1] - samples_below[n] samples between edges_s[n] and edges_s[n + 1].

    A value that at least five samples and 5 % of them have becomes an atom if it is there five times as often as either
    neighbouring value, or beside a gap ten times the median one, or if the values are few: at most 8, and all fit into
    the buckets as atoms (n of them take 2 n - 1). Values that are merely rounded, many and evenly far apart, do not.

    Edges lie midway between samples, so a cell across a long gap has the samples on either side of it. Equal neighbours
    bound an atom; all others lie 2 us apart.
    """

    edges_s: FloatArray
    samples_below: IndexArray

    @classmethod
    def of(cls, ordered: FloatArray, most_buckets: int) -> SampleCells:
        """Cut samples in ascending order that span 2 us or more; atoms and all between make at most `most_buckets`."""
        atoms = _atoms(ordered, most_buckets)
        start, left = 0, float(ordered[0])
        edges, below = [left], [0]
        for atom in [*atoms, None]:
            right = float(ordered[-1]) if atom is None else atom
            # samples next to an atom are the atom's
            stop = len(ordered) if atom is None else int(np.searchsorted(ordered, atom - SHORTEST_CELL_S, "right"))
            for border in _borders(ordered[start:stop], left, right, share=(stop - start) / len(ordered)):
                edges.append(border)
                below.append(start + int(np.searchsorted(ordered[start:stop], border)))
            if right > left:
                edges.append(right)
                below.append(stop)
            if atom is not None:
                start, left = int(np.searchsorted(ordered, atom + SHORTEST_CELL_S, "left")), atom
                edges.append(atom)
                below.append(start)
        return cls(np.array(edges), np.array(below))


def _atoms(ordered: FloatArray, most_buckets: int) -> list[float]:
    """Return values that are exact times rather than rounded ones, in ascending order."""
    # to the microsecond, so that 0.1 + 0.2 is 0.3
    _, first, counts = np.unique(np.rint(ordered * 1e6), return_index=True, return_counts=True)
    values = ordered[first]
    values[-1] = ordered[-1]
    # so few that no smooth error is behind them, and buckets enough for all as atoms with gaps between them
    are_few = len(values) <= FEW_VALUES and 2 * len(values) - 1 <= most_buckets
    often = counts >= max(ATOM_SHARE * len(ordered), ATOM_EXCESS)
    chosen = np.flatnonzero(often & (are_few | _stands_out(counts) | _stands_apart(values)))
    return _with_room(values[chosen[np.argsort(-counts[chosen], kind="stable")]], values[[0, -1]], most_buckets)


def _stands_out(counts: IndexArray) -> BoolArray:
    """Whether each value repeats far more often than those beside it."""
    beside = np.maximum(np.append(counts[1:], 0), np.insert(counts[:-1], 0, 0))
    stands_out: BoolArray = counts >= ATOM_EXCESS * beside
    return stands_out


def _stands_apart(values: FloatArray) -> BoolArray:
    """Whether beside each value is a gap far longer than the usual one, over which its share must not be spread."""
    gaps = np.diff(values)
    is_long = gaps >= LONG_GAP * np.median(gaps)
    return np.append(is_long, False) | np.insert(is_long, 0, False)


def _with_room(values: FloatArray, ends: FloatArray, most_buckets: int) -> list[float]:
    """Return those of the values, the first ones rather than the last, that there are buckets for."""
    atoms: list[float] = []
    buckets = 1
    for value in values.tolist():
        more = 1 if value in ends else 2  # the atom, and between two ends a second part of what it cuts
        # too close to another, or to the end of all samples, no bucket has room in between
        is_apart = all(value == s or abs(value - s) >= 2 * SHORTEST_CELL_S for s in [*atoms, *ends])
        if is_apart and buckets + more <= most_buckets:
            atoms.append(value)
            buckets += more
    return sorted(atoms)


def _borders(samples_s: FloatArray, left_s: float, right_s: float, share: float) -> list[float]:
    """Choose borders midway between neighbouring samples, apart from one another and from both ends."""
    if len(samples_s) < 2:
        return []
    last = len(samples_s) - 1
    ends = np.arange(min(CELLS_AT_EITHER_END, last))
    rank = np.unique(
        np.concatenate((np.linspace(0, last, max(2, round(CELLS * share))).astype(int), ends, last - ends))
    )
    rank = np.unique(np.searchsorted(samples_s, samples_s[rank], "right") - 1)  # equal samples stay together
    rank = rank[rank < last]
    chosen = [left_s]
    for border in ((samples_s[rank] + samples_s[rank + 1]) / 2).tolist():
        if border - chosen[-1] >= SHORTEST_CELL_S <= right_s - border:
            chosen.append(border)
    return chosen[1:]
