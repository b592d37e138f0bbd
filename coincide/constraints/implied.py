"""Implied bounds: how far apart two members can be by the constraints on all others."""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import Int64Array

UNBOUNDED_US = 2**60  # no bound; the sum of two stays inside int64


def implied_bounds(upper_us: Int64Array) -> Int64Array:
    """Tighten bounds by the shortest paths between all members (Floyd and Warshall).

    The paper bounds a pair without a constraint of its own by the shortest path (section 5, LCA); here every pair is
    bounded so, and windows need not be symmetric.

    Parameters
    ----------
    upper_us : ndarray of int64, shape (k, k)
        Greatest t_j - t_i that the constraint of i and j allows; UNBOUNDED_US where there is none. What lies below
        is the lower bound the other way: t_j - t_i >= -upper_us[j, i].

    Returns
    -------
    ndarray of int64, shape (k, k)
        No bound is larger than before. A negative number on the diagonal tells that the constraints contradict each
        other.

    Examples
    --------
    b within 5 of a, c from 1 before b to 3 after it:

    >>> far = UNBOUNDED_US
    >>> implied_bounds(np.array([[0, 5, far], [5, 0, 3], [far, 1, 0]])).tolist()
    [[0, 5, 8], [5, 0, 3], [6, 1, 0]]
    """
    bounds: Int64Array = np.minimum(upper_us, UNBOUNDED_US)
    for through in range(len(bounds)):
        bounds = np.minimum(bounds, bounds[:, through, None] + bounds[through])
    return np.minimum(bounds, UNBOUNDED_US)
