"""Knots: the cdf of Xv - Xu as plain sums over the points where its density bends; fast, and off by a known bound.

The density of Xv - Xu is piecewise linear. It bends at every difference of two edges, by the product of the
densities' jumps there. The sums cancel where buckets are short: good for guesses, and for a verdict where it is
further off than the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import FloatArray
from coincide.template_columns import TemplateColumns

ULP = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Knots:
    """Bends of the density of Xv - Xu for many template pairs without atoms, one a column.

    Attributes
    ----------
    at_s : ndarray of float64, shape (knots, n)
        Where the density bends, in no order.
    bend : ndarray of float64, shape (knots, n)
        By how much its slope changes there, per s^2.
    """

    at_s: FloatArray
    bend: FloatArray

    @classmethod
    def of(cls, u: TemplateColumns, v: TemplateColumns) -> Knots:
        """Combine column n of `u` with column n of `v`."""
        at_s = v.edges_s[None] - u.edges_s[:, None]
        bend = -_jumps(u.density)[:, None] * _jumps(v.density)[None]
        shape = (-1, at_s.shape[2])
        return cls(at_s.reshape(shape), bend.reshape(shape))

    def cdf_and_density(self, x_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Xv - Xu <= x) and its derivative, each of shape (n,)."""
        beyond = x_s - self.at_s
        np.maximum(beyond, 0.0, out=beyond)
        terms = self.bend * beyond
        density: FloatArray = terms.sum(axis=0)
        terms *= beyond
        return 0.5 * terms.sum(axis=0), density


def cdf_error(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on how far the sums of `Knots` are off up to the greatest knot, shape (n,); infinite where there are atoms.

    Each of K knots k adds bend (x - k)^2 / 2 with x - k at most the spread S of Xv - Xu. The difference is off by the
    rounding of times of up to M, the term by a few units in its last place, their sum by K of them.
    """
    spread = spread_s(u, v)
    knots = len(u.edges_s) * len(v.edges_s)
    bound: FloatArray = ULP * cdf_bends(u, v) * spread * (spread * (knots + 8) + 8 * greatest_s(u, v))
    bound[u.has_atoms | v.has_atoms] = np.inf
    return bound


def cdf_bends(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Sum of all bends of the density of Xv - Xu, whatever their sign, per s^2, shape (n,)."""
    bends: FloatArray = np.abs(_jumps(u.density)).sum(axis=0) * np.abs(_jumps(v.density)).sum(axis=0)
    return bends


def spread_s(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Greatest knot less the least, shape (n,)."""
    spread: FloatArray = u.edges_s[-1] - u.edges_s[0] + v.edges_s[-1] - v.edges_s[0]
    return spread


def greatest_s(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on the knots, whatever their sign, shape (n,)."""
    greatest: FloatArray = np.abs(u.edges_s).max(axis=0) + np.abs(v.edges_s).max(axis=0)
    return greatest


def _jumps(density: FloatArray) -> FloatArray:
    """Jumps of a density at its edges, shape (k + 1, n)."""
    nothing = np.zeros((1, density.shape[1]))
    return np.diff(density, axis=0, prepend=nothing, append=nothing)
