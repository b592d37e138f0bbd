"""window_bounds: how probable it is that some times lie in a window, from below and from above."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray
from coincide.templates.histogram import Histogram

ROUNDING_S = 4e-6  # corrected times are whole microseconds
PIECES = 64  # of time


def window_bounds(
    templates: Sequence[Histogram], index: IndexArray, at_s: FloatArray, window_s: float
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the probability that all members of each set lie within a window of each other.

    It is the sum over i of the probability that X_i is first, in some piece of time, and that all others follow in the
    window. Within a piece of time the window begins at one end or the other.

    Parameters
    ----------
    templates : sequence of Histogram
    index : ndarray of int, shape (n, m)
        Position of the template of each member.
    at_s : ndarray of float64, shape (n, m)
        Its reported time.
    window_s : float

    Returns
    -------
    tuple of ndarray of float64, each of shape (n,)
        From below and from above, some hundredths apart.
    """
    ends = np.array([(template.earliest_s, template.latest_s) for template in templates])
    first_s, last_s = at_s + ends[index, 0], at_s + ends[index, 1]
    begin_s, end_s = first_s.max(axis=1) - window_s, np.maximum(last_s.min(axis=1), first_s.max(axis=1) - window_s)
    begin_s = np.maximum(begin_s, first_s.min(axis=1)) - ROUNDING_S  # a template may have mass at its very beginning
    onset_s = begin_s[:, None] + (np.maximum(end_s - begin_s, 0.0)[:, None] * np.linspace(0, 1, PIECES + 1))
    before, by_end = np.empty((2, *onset_s.shape, index.shape[1]))
    for of in np.unique(index).tolist():
        row, nth = np.nonzero(index == of)
        own_s = onset_s[row] - at_s[row, nth][:, None]
        before[row, :, nth] = templates[of].cdf(own_s)
        by_end[row, :, nth] = templates[of].cdf(own_s + window_s)
    is_first = before[:, 1:] - before[:, :-1]
    least = np.maximum(by_end[:, :-1] - before[:, 1:], 0.0)
    return _sum_of_products(is_first, least), _sum_of_products(is_first, by_end[:, 1:] - before[:, :-1])


def _sum_of_products(is_first: FloatArray, follows: FloatArray) -> FloatArray:
    """Sum over pieces and i of the probability that i is first, times those of all others; less where one is 0."""
    share = np.divide(is_first, follows, out=np.zeros_like(follows), where=follows > 0)
    total: FloatArray = (follows.prod(axis=2) * share.sum(axis=2)).sum(axis=1)
    return total
