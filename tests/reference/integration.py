"""A second opinion on P, by integration and for many pairs at once.

P(lo <= B - A <= hi) = integral of f_A(a) (F_B(a + hi) - F_B(a + lo)) da. Between merged break points f_A is constant
and F_B linear, so the midpoint rule is exact. Buckets of zero length are not covered.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def integrated_probability(a_edges: Array, a_mass: Array, b_edges: Array, b_mass: Array, lo: Array, hi: Array) -> Array:
    """P for n pairs: edges of shape (n, k + 1), masses (n, k), bounds (n,) already less the offset."""
    breaks = np.concatenate((a_edges, b_edges - lo[:, None], b_edges - hi[:, None]), axis=1)
    points = np.sort(np.clip(breaks, a_edges[:, :1], a_edges[:, -1:]), axis=1)
    middle, width = (points[:, 1:] + points[:, :-1]) / 2, np.diff(points, axis=1)
    density = _density(a_edges, a_mass, middle)
    between = _cdf(b_edges, b_mass, middle + hi[:, None]) - _cdf(b_edges, b_mass, middle + lo[:, None])
    total: Array = (width * density * between).sum(axis=1)
    return total


def _density(edges: Array, mass: Array, x: Array) -> Array:
    height = mass / np.diff(edges, axis=1)
    inside = (x[:, :, None] >= edges[:, None, :-1]) & (x[:, :, None] < edges[:, None, 1:])
    total: Array = (inside * height[:, None, :]).sum(axis=2)
    return total


def _cdf(edges: Array, mass: Array, x: Array) -> Array:
    share = (x[:, :, None] - edges[:, None, :-1]) / np.diff(edges, axis=1)[:, None, :]
    total: Array = (np.clip(share, 0.0, 1.0) * mass[:, None, :]).sum(axis=2)
    return total
