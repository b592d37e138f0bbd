"""P(X_i >= X_j) as the paper writes it: Lemma 1 by pairs of buckets, Theorem 1 by adjusted histograms."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.templates.histogram import Histogram


@dataclass(frozen=True, eq=False)
class HistogramTimestamp:
    """H = ((I_1, p_1), ..., (I_n, p_n)) of Definition 1: adjacent buckets, uniform inside each.

    The unit of time is the caller's. The joins use microseconds counted from the reported time of one event of
    the pair: whole microseconds are then exact in floats, and small.
    """

    points: FloatArray  # (n + 1,), not decreasing; two equal ones are an exact time, which the paper has not
    mass: FloatArray  # (n,)

    @classmethod
    def of_template(cls, template: Histogram, units_per_second: float = 1e6) -> HistogramTimestamp:
        """Return the timestamp of an event reported at time 0."""
        return cls(template.edges_s * units_per_second, template.mass)

    @property
    def min(self) -> float:
        """Earliest possible occurrence."""
        return float(self.points[0])

    @property
    def max(self) -> float:
        """Latest possible occurrence."""
        return float(self.points[-1])

    def __len__(self) -> int:
        """|H|, the number of buckets."""
        return len(self.mass)

    def __add__(self, x: float) -> HistogramTimestamp:
        return HistogramTimestamp(self.points + x, self.mass)

    def __sub__(self, x: float) -> HistogramTimestamp:
        return HistogramTimestamp(self.points - x, self.mass)


class Bucket(NamedTuple):
    """A closed interval, and the probability that the event occurs in it, at any time alike."""

    start: float
    end: float
    mass: float


def joint_probability(i: Bucket, j: Bucket) -> float:
    """P(X_i >= X_j, X_i in bucket i, X_j in bucket j), by the six cases of Lemma 1.

    Asked in order, no case divides by the length of an exact time (a bucket of zero length). Only where two exact
    times are equal do cases 1 and 2 both hold; X_i >= X_j is certain there, so case 2 comes first here.
    """
    i1, i2, j1, j2 = i.start, i.end, j.start, j.end
    both = i.mass * j.mass
    if i1 >= j2:
        return both
    if i2 <= j1:
        return 0.0
    if i1 < j1:
        if i2 <= j2:
            return both * (i2 - j1) ** 2 / (2 * (i2 - i1) * (j2 - j1))
        return both * (2 * i2 - j1 - j2) / (2 * (i2 - i1))
    if i2 > j2:
        return both - both * (j2 - i1) ** 2 / (2 * (i2 - i1) * (j2 - j1))
    return both * (i2 - 2 * j1 + i1) / (2 * (j2 - j1))


def ge_by_buckets(h_i: HistogramTimestamp, h_j: HistogramTimestamp) -> float:
    """P(X_i >= X_j): the joint probabilities of all pairs of buckets, added up (Equation 2)."""
    return sum(joint_probability(i, j) for i in _buckets(h_i) for j in _buckets(h_j))


def _buckets(h: HistogramTimestamp) -> list[Bucket]:
    intervals = pairwise(h.points.tolist())
    return [Bucket(start, end, mass) for (start, end), mass in zip(intervals, h.mass.tolist(), strict=True)]


def adjusted(h_i: HistogramTimestamp, h_j: HistogramTimestamp) -> tuple[HistogramTimestamp, HistogramTimestamp]:
    """Return both histograms over the intervals between all their time points, densities unchanged (Definition 3).

    The paper has no exact times (buckets of zero length); here each is an interval of its own, of zero length.
    """
    exact_times = np.union1d(*(h.points[:-1][np.diff(h.points) == 0] for h in (h_i, h_j)))
    points = np.sort(np.concatenate((np.union1d(h_i.points, h_j.points), exact_times)))
    return _over(points, h_i), _over(points, h_j)


def ge(h_i: HistogramTimestamp, h_j: HistogramTimestamp) -> float:
    """P(X_i >= X_j) by Theorem 1 (Equation 3).

    X_j lies in an earlier interval than X_i, or both lie in the same one: then half the time X_i comes second,
    and always where that interval is one exact time.
    """
    if h_i.min >= h_j.max:
        return 1.0
    if h_i.max < h_j.min:
        return 0.0
    i, j = adjusted(h_i, h_j)
    earlier = np.concatenate(([0.0], np.cumsum(j.mass)[:-1]))
    share_of_ties = np.where(np.diff(i.points) > 0, 0.5, 1.0)
    return float(i.mass @ earlier + i.mass @ (share_of_ties * j.mass))


def _over(points: FloatArray, h: HistogramTimestamp) -> HistogramTimestamp:
    """Distribute the mass of each bucket over the intervals between `points`, in proportion to their overlap."""
    start, end = points[:-1, None], points[1:, None]
    left, right = h.points[:-1], h.points[1:]
    length = right - left
    overlap = np.clip(np.minimum(end, right) - np.maximum(start, left), 0.0, None)
    share = np.divide(overlap, length, out=np.zeros_like(overlap), where=length > 0)
    share[(start == left) & (end == right) & (length == 0)] = 1.0
    return HistogramTimestamp(points, share @ h.mass)
