"""The whole error of a sensor on a clock: what is its own and what the clock shares, added into few buckets.

The sum of two errors of steps has a density of straight lines. Its cdf is taken at its bends and between them, and as
few of these points as keep the straight cdf of a histogram close enough become the edges of the buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from coincide.arrays.exact_sums import ExactSum
from coincide.arrays.kinds import FloatArray
from coincide.errors import HistogramError
from coincide.probability.trapezoids import terms_of
from coincide.templates.buckets import SHORTEST_BUCKET_S
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplateColumns, checked_template

MOST_BUCKETS = 64
#: A probability that takes one whole error is off by at most so much.
FURTHEST_OFF = 1e-3
POINTS = 4_096  # at about so many the cdf is taken: at its bends, and at least once between two of them
LEAST_TOLERANCE = 1e-6  # closer is not worth a bucket
HALVINGS = 16


def whole_error(own: Histogram, clock: Histogram) -> Histogram:
    """Return the distribution of the sum of two independent errors, in at most 64 buckets.

    Parameters
    ----------
    own : Histogram
        What is left of a sensor's error once its clock is right.
    clock : Histogram
        Error of the clock: the time by which it was slow.

    Returns
    -------
    Histogram
        Its cdf is that of the sum at every edge, and nowhere further off than 5e-4. So P(lo <= Xb - Xa <= hi) is off by
        at most 1e-3 if one of the two is such a sum. With Gaussian errors of 64 buckets that is 3e-4, and 6e-4 if both
        are sums.

    Raises
    ------
    HistogramError
        64 buckets cannot come as close, as with many exact times on both sides.

    Examples
    --------
    >>> whole_error(Histogram.uniform(0, 1), Histogram.point())
    Histogram(edges_s=[0.0, 1.0], mass=[1.0])
    >>> whole = whole_error(Histogram.uniform(-1, 1), Histogram.uniform(-3, 3))
    >>> whole.earliest_s, whole.latest_s, round(whole.std_s, 3), round(whole.cdf(-3), 4)
    (-4.0, 4.0, 1.826, 0.0417)
    """
    checked_template("own", own), checked_template("clock", clock)
    if clock.length_s == 0 or own.length_s == 0:
        spread, exact = (own, clock) if clock.length_s == 0 else (clock, own)
        return spread.shift(exact.earliest_s)
    cdf = _Cdf(own, clock)
    most = MOST_BUCKETS - int((cdf.jump_at > 0).sum())
    tolerance = _least_tolerance(cdf, most)
    if not 2 * tolerance <= FURTHEST_OFF:
        raise HistogramError(
            "own", own, f"an error that adds up with that of its clock in {MOST_BUCKETS} buckets: these two do not"
        )
    return _histogram(cdf, _corners(cdf, tolerance))


class _Cdf:
    """The cdf of the sum at some times, shape (n,): just `before` each of them, and by how much it jumps there."""

    def __init__(self, own: Histogram, clock: Histogram) -> None:
        mirrored = Histogram(-own.edges_s[::-1], own.mass[::-1])
        terms = terms_of(*(TemplateColumns.of([each], len(each.mass)) for each in (mirrored, clock)))
        self.time_s = _times_s(own, clock)
        at = ExactSum(self.time_s, np.zeros_like(self.time_s))
        self.before: FloatArray = np.maximum.accumulate(np.clip(terms.below(at), 0.0, 1.0))
        jump: FloatArray = terms.at_most(at) - self.before
        self.jump_at: FloatArray = np.where(jump > 1e-12, jump, 0.0)  # what is less is rounding

    @property
    def after(self) -> FloatArray:
        """The cdf at each time."""
        cdf: FloatArray = self.before + self.jump_at
        return cdf


def _times_s(own: Histogram, clock: Histogram) -> FloatArray:
    """Return the bends of the sum's density and times between them, each at least as far apart as a bucket is long."""
    bends = _apart(np.unique(np.add.outer(own.edges_s, clock.edges_s)))
    parts = max(2, POINTS // len(bends))
    between = bends[:-1, None] + np.diff(bends)[:, None] * (np.arange(parts) / parts)
    atoms = np.add.outer(_atoms_s(own), _atoms_s(clock)).ravel()
    times: FloatArray = np.union1d(_apart(np.append(between.ravel(), bends[-1])), atoms)
    return times


def _apart(times_s: FloatArray) -> FloatArray:
    """Leave out what lies too close behind another; the last stays."""
    kept = np.append(np.diff(times_s) >= 2 * SHORTEST_BUCKET_S, True)
    left: FloatArray = times_s[kept]
    return left


def _atoms_s(histogram: Histogram) -> FloatArray:
    is_exact = (np.diff(histogram.edges_s) == 0) & (histogram.mass > 0)
    atoms: FloatArray = histogram.edges_s[:-1][is_exact]
    return atoms


def _least_tolerance(cdf: _Cdf, most: int) -> float:
    """Return the least tolerance found with which so many buckets are enough; infinite if none is."""
    lowest, highest = LEAST_TOLERANCE, 1.0
    if len(_corners(cdf, highest)) - 1 > most:
        return np.inf
    for _ in range(HALVINGS):
        middle = (lowest + highest) / 2
        if len(_corners(cdf, middle)) - 1 > most:
            lowest = middle
        else:
            highest = middle
    return highest


def _corners(cdf: _Cdf, tolerance: float) -> list[int]:
    """Return which times to join by straight lines, so that no other is further off; jumps are kept."""
    stops = [0, *np.flatnonzero(cdf.jump_at > 0).tolist(), len(cdf.time_s) - 1]
    corners = [0]
    for start, stop in pairwise(stops):
        corners += _between(cdf, start, stop, tolerance)
    return corners


def _between(cdf: _Cdf, start: int, stop: int, tolerance: float) -> Iterator[int]:
    """Yield the corners after `start`, up to `stop`: each as late as the cone of slopes from the one before allows."""
    after = cdf.after
    while start < stop:
        time_s = cdf.time_s[start + 1 : stop + 1] - cdf.time_s[start]
        rise = cdf.before[start + 1 : stop + 1] - after[start]
        least = np.maximum.accumulate((rise - tolerance) / time_s)
        greatest = np.minimum.accumulate((rise + tolerance) / time_s)
        slope = rise / time_s
        # against those before it: at its own time it is right
        fits = np.concatenate(([True], (slope[1:] >= least[:-1]) & (slope[1:] <= greatest[:-1])))
        start += 1 + int(np.flatnonzero(fits)[-1])
        yield start


def _histogram(cdf: _Cdf, corners: list[int]) -> Histogram:
    edges, mass = [float(cdf.time_s[0])], []
    if cdf.jump_at[0] > 0:
        edges, mass = [*edges, edges[0]], [float(cdf.jump_at[0])]
    after = cdf.after
    for start, stop in pairwise(corners):
        at_s = float(cdf.time_s[stop])
        edges.append(at_s)
        mass.append(float(cdf.before[stop] - after[start]))
        if cdf.jump_at[stop] > 0:
            edges.append(at_s)
            mass.append(float(cdf.jump_at[stop]))
    masses = np.maximum(mass, 0.0)
    return Histogram(edges, masses / masses.sum())
