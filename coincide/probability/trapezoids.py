"""Trapezoids: the cdf of Xv - Xu for many template pairs at once, as a sum over their pairs of buckets.

The difference of two uniform variables has a trapezoid for its density, so P(Xv - Xu <= x) is a sum of
non-negative quadratics, one for each pair of buckets, each evaluated from its own corner. Nothing cancels, and
since the distance to the corner is formed from exact sums of two floats, the result is good to 1e-14 whatever the
ratio between the longest and the shortest bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum, difference_of
from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.probability.merged_buckets import MergedBuckets
from coincide.templates.template_columns import TemplateColumns

ATOM_TOLERANCE_S = 1e-9  # 0.3 s is no float: an atom this close to a bound lies on it, and so inside
ROWS_ADDED_IN_A_ROW = 64
TRAPEZOIDS_PER_EDGE = 8  # a walk along the edges does as much work for each: it wins from some 20 buckets a side
ELEMENTS_PER_STEP = 32_768  # bucket pairs times template pairs: temporaries that stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Trapezoids:
    """Terms of the cdf of Xv - Xu: rows are pairs of buckets, columns are pairs of templates; shape (terms, n).

    With t = x - start, the term is 0 up to t = 0, rises for `short_s`, goes on straight, flattens again for
    `short_s`, and stays at its weight from t = short_s + long_s. The `curvature` is weight / (2 short long), 0 if one
    bucket is an atom; the `slope` weight / long, 0 if both are. Where both are, the term has `atom_weight`: None if no
    template here has an atom.
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
        has_atoms = bool(u.has_atoms.any() or v.has_atoms.any())
        atoms = np.where(long == 0, u.mass[:, None] * v.mass[None], 0.0) if has_atoms else None
        terms = (-1, long.shape[2])
        return cls(
            ExactSum(start.high.reshape(terms), start.low.reshape(terms)),
            short.reshape(terms),
            long.reshape(terms),
            ((0.5 * u.density)[:, None] * v.density[None]).reshape(terms),
            slope.reshape(terms),
            None if atoms is None else atoms.reshape(terms),
        )

    def at_most(self, x: ExactSum) -> FloatArray:
        """P(Xv - Xu <= x), shape (n,), for one x per template pair (or many x for a single pair)."""
        t = x.minus(self.start)
        probability = self._spread_below(t)
        if self.atom_weight is not None:
            probability += _total(self.atom_weight * (t >= -ATOM_TOLERANCE_S))
        return probability

    def below(self, x: ExactSum) -> FloatArray:
        """P(Xv - Xu < x), shape (n,)."""
        t = x.minus(self.start)
        probability = self._spread_below(t)
        if self.atom_weight is not None:
            probability += _total(self.atom_weight * (t > ATOM_TOLERANCE_S))
        return probability

    def at_most_and_density(self, x: ExactSum) -> tuple[FloatArray, FloatArray]:
        """P(Xv - Xu <= x) and its derivative, which takes no notice of jumps, each of shape (n,)."""
        t = x.minus(self.start)
        density = self._density(t)
        probability = self._spread_below(t)
        if self.atom_weight is not None:
            probability += _total(self.atom_weight * (t >= -ATOM_TOLERANCE_S))
            straight = (self.short_s == 0) & (t >= 0) & (t < self.long_s)
            density += _total(self.slope * straight)
        return probability, density

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
        return _total(inside)

    def _density(self, t: FloatArray) -> FloatArray:
        overlap = np.minimum(t, self.short_s + self.long_s - t)
        np.minimum(overlap, self.short_s, out=overlap)
        np.maximum(overlap, 0.0, out=overlap)
        overlap *= self.curvature
        return 2.0 * _total(overlap)


def in_steps(
    u: TemplateColumns, v: TemplateColumns, columns: Int64Array
) -> Iterator[tuple[slice | Int64Array, Trapezoids | MergedBuckets]]:
    """Yield (part of `columns`, terms of those columns of `u` and `v`), as much at a time as the cache holds."""
    pairs = len(u.mass) * len(v.mass)
    if _are_many(u, v):
        is_merged = _are_merged(u, v)[columns]
        for rows in (
            *_parts(np.flatnonzero(is_merged), len(u.edges_s) + len(v.edges_s)),
            *_parts(np.flatnonzero(~is_merged), pairs),
        ):
            yield rows, terms_of(u.take(columns[rows]), v.take(columns[rows]))
        return
    step = max(1, ELEMENTS_PER_STEP // pairs)
    for first in range(0, len(columns), step):
        part = slice(first, first + step)
        # made anew each time: reading their edges and multiplying is faster than reading the products back
        yield part, Trapezoids.of(u.take(columns[part]), v.take(columns[part]))


def _parts(positions: Int64Array, terms: int) -> Iterator[Int64Array]:
    step = max(1, ELEMENTS_PER_STEP // terms)
    return (positions[first : first + step] for first in range(0, len(positions), step))


def terms_of_each(u: TemplateColumns, v: TemplateColumns) -> Int64Array:
    """Terms of each template pair's cdf, shape (n,): an edge each if the pair's buckets are merged."""
    return np.where(_are_merged(u, v), len(u.edges_s) + len(v.edges_s), len(u.mass) * len(v.mass))


def terms_of(u: TemplateColumns, v: TemplateColumns) -> Trapezoids | MergedBuckets:
    """Return the terms of column n of `u` with column n of `v`, all of which are merged or none."""
    return MergedBuckets(u, v) if _are_merged(u, v).all() else Trapezoids.of(u, v)


def _are_merged(u: TemplateColumns, v: TemplateColumns) -> BoolArray:
    """Whether `MergedBuckets` does less work than `Trapezoids`, shape (n,); it cannot do atoms."""
    return ~(u.has_atoms | v.has_atoms) & _are_many(u, v)


def _are_many(u: TemplateColumns, v: TemplateColumns) -> bool:
    return len(u.mass) * len(v.mass) > TRAPEZOIDS_PER_EDGE * (len(u.edges_s) + len(v.edges_s))


def steepest_density(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on how fast the density of Xv - Xu changes, per s^2, shape (n,); infinite where it may jump."""
    bound: FloatArray = _total(u.density) * _total(v.density)
    bound[u.has_atoms | v.has_atoms] = np.inf
    return bound


def _total(terms: FloatArray) -> FloatArray:
    """Sum over the rows in an order that the number of columns does not change, so that neighbours do not matter.

    Many rows are folded first: a million equal terms, added up one after the other, are 1e-11 off.
    """
    while len(terms) > ROWS_ADDED_IN_A_ROW:
        half = len(terms) // 2
        folded = terms[:half] + terms[half : 2 * half]
        if len(terms) % 2:
            folded[0] += terms[-1]
        terms = folded
    # numpy adds a lone column up in another order, which may differ in the last bit
    total: FloatArray = terms.sum(axis=0) if terms.shape[1] > 1 else np.add.accumulate(terms, axis=0)[-1]
    return total
