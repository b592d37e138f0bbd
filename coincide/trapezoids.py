"""Trapezoids: the cdf of Xv - Xu for many template pairs at once, as a sum over their pairs of buckets.

The difference of two uniform variables has a trapezoid for its density, so P(Xv - Xu <= x) is a sum of
non-negative quadratics, one for each pair of buckets, each evaluated from its own corner. Nothing cancels, and
since the distance to the corner is formed from exact sums of two floats, the result is good to 1e-14 whatever the
ratio between the longest and the shortest bucket.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.exact_sums import ExactSum, difference_of
from coincide.histogram import FloatArray, Histogram

ATOM_TOLERANCE_S = 1e-9  # 0.3 s is no float: an atom this close to a bound lies on it, and so inside
ELEMENTS_PER_BLOCK = 32_768  # bucket pairs times template pairs: temporaries that stay in the processor's cache


@dataclass(frozen=True, eq=False)
class TemplateColumns:
    """Templates with the same number k of buckets, one per column.

    Attributes
    ----------
    edges_s : ndarray of float64, shape (k + 1, n)
    mass, length_s, density : ndarray of float64, shape (k, n)
        The density of an atom is 0 here: its mass is accounted for apart.
    """

    edges_s: FloatArray
    mass: FloatArray
    length_s: FloatArray
    density: FloatArray

    @classmethod
    def of(cls, templates: list[Histogram]) -> TemplateColumns:
        """Stack templates that all have the same number of buckets."""
        edges = np.stack([template.edges_s for template in templates], axis=1)
        mass = np.stack([template.mass for template in templates], axis=1)
        length = np.diff(edges, axis=0)
        density = np.divide(mass, length, out=np.zeros_like(mass), where=length > 0)
        return cls(edges, mass, length, density)

    def take(self, index: npt.NDArray[np.int64]) -> TemplateColumns:
        """Return the columns at `index`, shape (n,), repeated as often as it names them."""
        return TemplateColumns(
            self.edges_s.take(index, axis=1),
            self.mass.take(index, axis=1),
            self.length_s.take(index, axis=1),
            self.density.take(index, axis=1),
        )


@dataclass(frozen=True, eq=False)
class Trapezoids:
    """Terms of the cdf of Xv - Xu: rows are pairs of buckets, columns are pairs of templates.

    With t = x - start, the term is 0 up to t = 0, rises for `short_s`, goes on straight, flattens again for
    `short_s`, and stays at its weight from t = short_s + long_s.

    Attributes
    ----------
    start : ExactSum of shape (terms, n)
        Least possible value of the difference of the two buckets.
    short_s, long_s : ndarray of float64, shape (terms, n)
        Lengths of the shorter and of the longer bucket.
    curvature : ndarray of float64, shape (terms, n)
        weight / (2 short long), 0 if one bucket is an atom.
    slope : ndarray of float64, shape (terms, n)
        weight / long, 0 if both are atoms.
    atom_weight : ndarray of float64, shape (terms, n), or None
        Weight of the terms where both are atoms; None if no bucket of these templates is one.
    """

    start: ExactSum
    short_s: FloatArray
    long_s: FloatArray
    curvature: FloatArray
    slope: FloatArray
    atom_weight: FloatArray | None

    @classmethod
    def of(cls, u: TemplateColumns, v: TemplateColumns) -> Trapezoids:
        """Combine column n of `u` with column n of `v`, bucket by bucket."""
        u_length, v_length = u.length_s[:, None], v.length_s[None]
        short, long = np.minimum(u_length, v_length), np.maximum(u_length, v_length)
        slope = np.where(u_length > v_length, u.density[:, None] * v.mass[None], u.mass[:, None] * v.density[None])
        start = difference_of(v.edges_s[None, :-1], u.edges_s[1:, None])
        has_atoms = not (u.length_s.all() and v.length_s.all())
        atoms = np.where(long == 0, u.mass[:, None] * v.mass[None], 0.0) if has_atoms else None
        terms = (-1, long.shape[2])
        return cls(
            ExactSum(start.high.reshape(terms), start.low.reshape(terms)),
            short.reshape(terms),
            long.reshape(terms),
            (0.5 * u.density[:, None] * v.density[None]).reshape(terms),
            slope.reshape(terms),
            None if atoms is None else atoms.reshape(terms),
        )

    def take(self, index: npt.NDArray[np.int64]) -> Trapezoids:
        """Return the template pairs at `index`."""
        return Trapezoids(
            ExactSum(self.start.high.take(index, axis=1), self.start.low.take(index, axis=1)),
            self.short_s.take(index, axis=1),
            self.long_s.take(index, axis=1),
            self.curvature.take(index, axis=1),
            self.slope.take(index, axis=1),
            None if self.atom_weight is None else self.atom_weight.take(index, axis=1),
        )

    def at_most(self, x: ExactSum) -> FloatArray:
        """P(Xv - Xu <= x), shape (n,), for one x per template pair (or many x for a single pair)."""
        t = x.minus(self.start)
        probability = self._spread_below(t)
        if self.atom_weight is not None:
            probability += (self.atom_weight * (t >= -ATOM_TOLERANCE_S)).sum(axis=0)
        return probability

    def below(self, x: ExactSum) -> FloatArray:
        """P(Xv - Xu < x), shape (n,)."""
        t = x.minus(self.start)
        probability = self._spread_below(t)
        if self.atom_weight is not None:
            probability += (self.atom_weight * (t > ATOM_TOLERANCE_S)).sum(axis=0)
        return probability

    def at_most_and_density(self, x: ExactSum) -> tuple[FloatArray, FloatArray]:
        """P(Xv - Xu <= x) and its derivative, each of shape (n,); jumps have no part in the derivative."""
        t = x.minus(self.start)
        density = self._density(t)
        probability = self._spread_below(t)
        if self.atom_weight is not None:
            probability += (self.atom_weight * (t >= -ATOM_TOLERANCE_S)).sum(axis=0)
            straight = (self.short_s == 0) & (t >= 0) & (t < self.long_s)
            density += (self.slope * straight).sum(axis=0)
        return probability, density

    def steepest_density(self) -> FloatArray:
        """Bound on how fast the density changes, per s^2, shape (n,); infinite where it can jump."""
        if self.atom_weight is not None:
            return np.full(self.slope.shape[1], np.inf)
        bound: FloatArray = 2.0 * self.curvature.sum(axis=0)
        return bound

    def _spread_below(self, t: FloatArray) -> FloatArray:
        inside = np.maximum(t, 0.0)
        np.minimum(inside, self.short_s + self.long_s, out=inside)
        rise = np.minimum(inside, self.short_s)
        fall = np.maximum(inside - self.long_s, 0.0)
        inside -= rise
        inside *= self.slope
        bend = rise - fall
        rise += fall
        bend *= rise
        bend *= self.curvature
        inside += bend
        total: FloatArray = inside.sum(axis=0)
        return total

    def _density(self, t: FloatArray) -> FloatArray:
        overlap = np.minimum(t, self.short_s + self.long_s - t)
        np.minimum(overlap, self.short_s, out=overlap)
        np.maximum(overlap, 0.0, out=overlap)
        overlap *= self.curvature
        total: FloatArray = 2.0 * overlap.sum(axis=0)
        return total
