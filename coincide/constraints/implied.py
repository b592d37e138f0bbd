"""Implied bounds: how far apart two members can be by the constraints on all others."""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import Int64Array

UNBOUNDED_US = 2**60  # no bound; the sum of two stays inside int64


def implied_bounds(upper_us: Int64Array) -> Int64Array:
    """Tighten bounds by the shortest paths between all members (Floyd and Warshall); below 0 on the diagonal none fit.

    `upper_us[i, j]` is the greatest t_j - t_i that a constraint allows, UNBOUNDED_US where there is none; the least is
    ``-upper_us[j, i]``. The paper bounds a pair without a constraint so (section 5, LCA); here every pair is.
    """
    bounds: Int64Array = np.minimum(upper_us, UNBOUNDED_US)
    for through in range(len(bounds)):
        bounds = np.minimum(bounds, bounds[:, through, None] + bounds[through])
    return np.minimum(bounds, UNBOUNDED_US)
