"""The distribution of Xb - Xa for two templates, and the probability that it lies in a window."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.histogram import FloatArray, Histogram
from coincide.window import Window

ATOM_TOLERANCE_S = 1e-9  # 0.3 s is no float: an atom this close to a bound lies on it, and so inside


class Difference:
    """Distribution of Xv - Xu for independent Xu ~ `u` and Xv ~ `v`: a piecewise quadratic cdf.

    Every pair of buckets contributes a trapezoid: uniform minus uniform. The cdf is the sum of theirs, each
    computed from its own corner, so nothing cancels.
    """

    def __init__(self, u: Histogram, v: Histogram) -> None:
        length_u, length_v = np.diff(u.edges_s), np.diff(v.edges_s)
        start = (v.edges_s[None, :-1] - u.edges_s[1:, None]).ravel()
        weight = np.outer(u.mass, v.mass).ravel()
        short = np.minimum(length_u[:, None], length_v[None, :]).ravel()
        long = np.maximum(length_u[:, None], length_v[None, :]).ravel()
        self._atom_at, self._atom_weight = start[long == 0], weight[long == 0]
        spread = long > 0
        self._start, self._short, self._long = start[spread], short[spread], long[spread]
        self._per_long = weight[spread] / self._long
        self._per_area = np.where(self._short > 0, self._per_long / (2 * np.where(self._short > 0, self._short, 1)), 0)
        self.earliest_s, self.latest_s = v.earliest_s - u.latest_s, v.latest_s - u.earliest_s
        self.atoms_s = np.unique(self._atom_at)
        self.breaks_s = np.unique(np.subtract.outer(v.edges_s, u.edges_s))

    def cdf(self, x_s: npt.ArrayLike) -> FloatArray:
        """P(Xv - Xu <= x_s)."""
        x = np.asarray(x_s, dtype=np.float64)
        at_atoms = (x[..., None] >= self._atom_at - ATOM_TOLERANCE_S) @ self._atom_weight
        return np.asarray(self._spread_below(x) + at_atoms)

    def below(self, x_s: npt.ArrayLike) -> FloatArray:
        """P(Xv - Xu < x_s)."""
        x = np.asarray(x_s, dtype=np.float64)
        at_atoms = (x[..., None] > self._atom_at + ATOM_TOLERANCE_S) @ self._atom_weight
        return np.asarray(self._spread_below(x) + at_atoms)

    def _spread_below(self, x: FloatArray) -> FloatArray:
        from_start = x[..., None] - self._start
        rising = np.clip(from_start, 0.0, self._short)
        flat = np.clip(from_start - self._short, 0.0, self._long - self._short)
        falling = np.clip(from_start - self._long, 0.0, self._short)
        terms = self._per_area * (rising * rising - falling * falling) + self._per_long * (flat + falling)
        return np.asarray(terms.sum(axis=-1))


def match_probability(u: Histogram, v: Histogram, offset_s: npt.ArrayLike, window: Window) -> Any:
    """P(window.lo_s <= Xb - Xa <= window.hi_s) for events whose reported times lie `offset_s` apart.

    Parameters
    ----------
    u, v : Histogram
        Templates of a and of b.
    offset_s : float or array of float
        tb - ta, the reported times, in seconds.
    window : Window
        Closed at both ends.

    Returns
    -------
    float, or ndarray of float64 in the shape of `offset_s`
        Exact up to rounding (1e-12).

    Examples
    --------
    IMB's and Baksan's first neutrinos of SN1987A were reported 30.444 s apart by clocks in error:

    >>> imb, baksan = Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2)
    >>> round(match_probability(imb, baksan, 30.444, Window(10)), 4)
    0.3571
    """
    offset = np.asarray(offset_s, dtype=np.float64)
    difference = Difference(u, v)
    probability = difference.cdf(window.hi_s - offset) - difference.below(window.lo_s - offset)
    probability = np.clip(probability, 0.0, 1.0)
    return float(probability) if probability.ndim == 0 else probability


def match_probabilities(
    us: list[Histogram],
    vs: list[Histogram],
    u_index: npt.NDArray[np.int64],
    v_index: npt.NDArray[np.int64],
    offset_us: npt.NDArray[np.int64],
    window: Window,
) -> FloatArray:
    """`match_probability` for many pairs of events, grouped by template pair.

    Parameters
    ----------
    us, vs : sequence of Histogram
        Templates of the a side and of the b side.
    u_index, v_index : ndarray of integer, shape (n,)
        Which of `us` and `vs` each pair has.
    offset_us : ndarray of int64, shape (n,)
        tb - ta in microseconds.
    window : Window

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    code = np.asarray(u_index, dtype=np.int64) * len(vs) + np.asarray(v_index, dtype=np.int64)
    order = np.argsort(code, kind="stable")
    groups, starts = np.unique(code[order], return_index=True)
    probability = np.empty(len(code))
    for group, rows in zip(groups, np.split(order, starts[1:]), strict=True):
        u, v = us[group // len(vs)], vs[group % len(vs)]
        probability[rows] = match_probability(u, v, np.asarray(offset_us)[rows] / 1e6, window)
    return probability
