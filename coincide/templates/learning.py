"""Bayesian blocks: of all histograms of some samples the most likely one, with no more buckets than they speak for.

A bucket of n samples and length T contributes n (log n - log T), the log-likelihood of its density, and costs a
constant, so that it must be worth it. Dynamic programming finds the best of all choices of edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray
from coincide.errors import HistogramError
from coincide.templates.bucket_checks import FURTHEST_EDGE_S, refuse_unless_count_of_buckets
from coincide.templates.sample_cells import SHORTEST_CELL_S, SampleCells

LEAST_SAMPLES = 30  # the next one lies outside the range of n with probability 2 / (n + 1): 1 in 16
NEEDLESS_BUCKET = 0.05  # probability that samples of a uniform distribution are given one


def bayesian_blocks(samples_s: Sequence[float] | FloatArray, buckets: int) -> tuple[FloatArray, FloatArray]:
    """Return edges, shape (k + 1,), and masses, shape (k,), with 1 <= k <= `buckets`; see `Histogram.from_samples`.

    References
    ----------
    Scargle, Norris, Jackson, Chiang: Studies in Astronomical Time Series Analysis VI. Bayesian Block
    Representations (2013), equations 19 and 21.

    Examples
    --------
    >>> edges_s, mass = bayesian_blocks([0.0] * 40 + [n / 10 for n in range(1, 61)], buckets=8)
    >>> edges_s.tolist(), mass.tolist()
    ([0.0, 0.0, 6.0], [0.4, 0.6])
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
