"""Lemma 1 and Equation 2: P(X_i >= X_j), one pair of buckets at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from coincide.timing_join.ptjoin.histogram_timestamp import HistogramTimestamp


class Bucket(NamedTuple):
    """An interval, closed, and the probability that the event occurs in it, at any time alike."""

    start: float
    end: float
    mass: float


def joint_probability(i: Bucket, j: Bucket) -> float:
    """P(X_i >= X_j, X_i in bucket i, X_j in bucket j), by the paper's six cases.

    Asked in order, no case divides by the length of an exact time (a bucket of zero length). Only where two exact
    times are equal do cases 1 and 2 both hold; X_i >= X_j is certain there, so case 2 comes first here.

    References
    ----------
    Lemma 1 of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006).

    Examples
    --------
    >>> joint_probability(Bucket(0, 2, 1.0), Bucket(1, 3, 1.0))
    0.125
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
    """P(X_i >= X_j): the joint probabilities of all pairs of buckets, added up (Equation 2).

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> h = HistogramTimestamp.of_template(Histogram([0, 20, 30, 40], [0.1, 0.3, 0.6]))
    >>> round(ge_by_buckets(h, h), 12)
    0.5
    """
    return sum(joint_probability(i, j) for i in _buckets(h_i) for j in _buckets(h_j))


def _buckets(h: HistogramTimestamp) -> list[Bucket]:
    intervals = pairwise(h.points.tolist())
    return [Bucket(start, end, mass) for (start, end), mass in zip(intervals, h.mass.tolist(), strict=True)]
