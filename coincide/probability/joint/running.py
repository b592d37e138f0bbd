"""Running masses: piecewise polynomials that rise from 0, and exact integrals of their products; tuples in rows.

Times are seconds on a clock of each tuple's own, as plain floats: whoever uses this sees to it that they are precise
enough. Nothing here knows exact times (atoms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.probability.piecewise import gauss_legendre


@dataclass(frozen=True, eq=False)
class Running:
    """A function of time that is 0 up to the first of k knots and level after the last; one a row, n rows.

    The other arrays have shape (n, k + 1): piece 0 comes before the first knot. In piece i > 0 the function is
    start + slope z + bend z^2, where z is the time since knot i - 1, `length_s` at most.
    """

    knots_s: FloatArray
    start: FloatArray
    slope: FloatArray
    bend: FloatArray | None
    length_s: FloatArray

    @classmethod
    def mass(cls, edges_s: FloatArray, density: FloatArray) -> Running:
        """Return the mass up to each time of what has this density, (n, k - 1), between edges, (n, k)."""
        length_s, slope = _between_ends(np.diff(edges_s)), _between_ends(density)
        return cls(edges_s, _before(slope * length_s), slope, None, length_s)

    @property
    def degree(self) -> int:
        """Degree of the polynomials."""
        return 1 if self.bend is None else 2

    def weighted(self, weight: Running, later_s: float) -> Running:
        """Return the running integral of this one's slope times `weight` so much later; both are of degree 1."""
        merged = Merged(self, [(weight, np.array([later_s]))])
        time_s, every = merged.time_s[0], np.arange(merged.width_s.size)
        own, at = self.slope.ravel()[merged.piece(0, every)], merged.piece(1, every)
        shape = merged.width_s[0].shape
        met = _Expanded(weight, at, time_s[:, :-1].ravel() + later_s).at(np.zeros(1))
        slope, bend = (_between_ends((own * each).reshape(shape)) for each in (met, weight.slope.ravel()[at] / 2))
        length_s = _between_ends(merged.width_s[0])
        return Running(time_s, _before((slope + bend * length_s) * length_s), slope, bend, length_s)


def _between_ends(pieces: FloatArray) -> FloatArray:
    return np.pad(pieces, ((0, 0), (1, 1)))


def _before(mass: FloatArray) -> FloatArray:
    """Return what has come before each piece."""
    before = np.zeros_like(mass)
    np.cumsum(mass[:, :-1], axis=1, out=before[:, 1:])
    return before


class Merged:
    """The knots of functions at s shifts, within the support of the first, in order; shape (s, n, knots of all)."""

    def __init__(self, within: Running, shifted: Sequence[Shifted]) -> None:
        own_s = within.knots_s[None]
        moved = [each.knots_s - later_s[:, None, None] for each, later_s in shifted]
        self._starts = np.cumsum([0, own_s.shape[2], *(each.shape[2] for each in moved)])
        all_s = np.concatenate((np.broadcast_to(own_s, (len(moved[0]), *own_s.shape[1:])), *moved), axis=2)
        np.clip(all_s, own_s[..., :1], own_s[..., -1:], out=all_s)
        self._order = np.argsort(all_s, axis=2)
        self.time_s: FloatArray = np.take_along_axis(all_s, self._order, axis=2)
        self.width_s: FloatArray = np.diff(self.time_s)

    def piece(self, which: int, chosen: Int64Array) -> Int64Array:
        """Return which piece of a function, counted through all tuples, each chosen one between two knots lies in."""
        first, end = self._starts[which : which + 2]
        behind = np.cumsum((self._order >= first) & (self._order < end), axis=2, dtype=np.int32)[..., :-1]
        pieces = end - first + 1
        tuple_ = chosen // behind.shape[2] % behind.shape[1]
        at: Int64Array = behind.ravel()[chosen] + tuple_ * pieces
        return at


Shifted = tuple[Running, FloatArray]
"""A function, and how much later than the member it is asked for, (s,)."""


def integrals(member: Running, factors: Sequence[Shifted], rise: tuple[Running, FloatArray, FloatArray]) -> FloatArray:
    """Integrate over when a member occurs, s integrals of n tuples: the product of factors and of a rise; shape (s, n).

    The rise is how much a function grows from so much after the member to so much after it.
    """
    grows, from_s, to_s = rise
    functions = [*factors, (grows, from_s), (grows, to_s)]
    merged = Merged(member, functions)
    chosen = np.flatnonzero(merged.width_s.ravel() > 0)
    row = chosen // merged.width_s.shape[2]
    shift, half_s = row // len(member.knots_s), merged.width_s.ravel()[chosen] / 2
    middle_s = merged.time_s[..., :-1].ravel()[chosen] + half_s
    weight = member.slope.ravel()[merged.piece(0, chosen)] * half_s
    values = [
        _Expanded(each, merged.piece(1 + n, chosen), middle_s + later_s[shift])
        for n, (each, later_s) in enumerate(functions)
    ]
    sums = np.zeros(merged.width_s.shape[0] * merged.width_s.shape[1])
    nodes = gauss_legendre(sum(each.degree for each, _ in functions[:-1]))
    for node, node_weight in zip(*nodes, strict=True):
        *before, start, end = (each.at(node * half_s) for each in values)
        grown = (end - start) * weight
        for factor in before:
            grown *= factor
        sums += node_weight * np.bincount(row, grown, len(sums))  # one after the other, whatever other tuples there are
    return sums.reshape(merged.width_s.shape[:2])


class _Expanded:
    """A function about times that lie in these of its pieces."""

    def __init__(self, function: Running, piece: Int64Array, time_s: FloatArray) -> None:
        knot_s = np.concatenate((function.knots_s[:, :1], function.knots_s), axis=1)
        self._start, self._slope = function.start.ravel()[piece], function.slope.ravel()[piece]
        self._bend = None if function.bend is None else function.bend.ravel()[piece]
        self._since_s, self._length_s = time_s - knot_s.ravel()[piece], function.length_s.ravel()[piece]

    def at(self, later_s: FloatArray) -> FloatArray:
        since_s = np.minimum(np.maximum(self._since_s + later_s, 0.0), self._length_s)
        slope = self._slope if self._bend is None else self._slope + self._bend * since_s
        return self._start + slope * since_s
