"""Adjusted histograms and Theorem 1: P(X_i >= X_j) from two histograms over the same intervals."""

from __future__ import annotations

import numpy as np

from coincide.arrays import FloatArray
from coincide.timing_join.ptjoin.histogram_timestamp import HistogramTimestamp


def adjusted(h_i: HistogramTimestamp, h_j: HistogramTimestamp) -> tuple[HistogramTimestamp, HistogramTimestamp]:
    """Return both histograms over the intervals between all their time points, their densities unchanged.

    The paper has no exact times (buckets of zero length); here each is an interval of its own, of zero length.

    References
    ----------
    Definition 3 of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006).

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> i, j = (HistogramTimestamp.of_template(Histogram.uniform(*ends), 1) for ends in ((0, 4), (3, 5)))
    >>> adjusted_i, adjusted_j = adjusted(i, j)
    >>> adjusted_i.points.tolist(), adjusted_i.mass.tolist(), adjusted_j.mass.tolist()
    ([0.0, 3.0, 4.0, 5.0], [0.75, 0.25, 0.0], [0.0, 0.5, 0.5])
    """
    exact_times = np.union1d(_exact_times(h_i), _exact_times(h_j))
    points = np.sort(np.concatenate((np.union1d(h_i.points, h_j.points), exact_times)))
    return _over(points, h_i), _over(points, h_j)


def ge(h_i: HistogramTimestamp, h_j: HistogramTimestamp) -> float:
    """P(X_i >= X_j) by Theorem 1 (Equation 3).

    X_j lies in an earlier interval than X_i, or both lie in the same one: then half the time X_i comes second,
    and always where that interval is one exact time.

    References
    ----------
    Theorem 1 of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006).

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> i, j = (HistogramTimestamp.of_template(Histogram.uniform(*ends)) for ends in ((0, 2), (1, 3)))
    >>> ge(i, j), ge(j, i)
    (0.125, 0.875)
    """
    if h_i.min >= h_j.max:
        return 1.0
    if h_i.max < h_j.min:
        return 0.0
    i, j = adjusted(h_i, h_j)
    earlier = np.concatenate(([0.0], np.cumsum(j.mass)[:-1]))
    share_of_ties = np.where(np.diff(i.points) > 0, 0.5, 1.0)
    return float(i.mass @ earlier + i.mass @ (share_of_ties * j.mass))


def _exact_times(h: HistogramTimestamp) -> FloatArray:
    exact_times: FloatArray = h.points[:-1][np.diff(h.points) == 0]
    return exact_times


def _over(points: FloatArray, h: HistogramTimestamp) -> HistogramTimestamp:
    """Distribute the mass of each bucket over the intervals between `points`, in proportion to their overlap."""
    start, end = points[:-1, None], points[1:, None]
    left, right = h.points[:-1], h.points[1:]
    length = right - left
    overlap = np.clip(np.minimum(end, right) - np.maximum(start, left), 0.0, None)
    share = np.divide(overlap, length, out=np.zeros_like(overlap), where=length > 0)
    share[(start == left) & (end == right) & (length == 0)] = 1.0
    return HistogramTimestamp(points, share @ h.mass)
