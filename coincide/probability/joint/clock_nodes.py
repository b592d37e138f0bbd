"""The offsets of clocks at which a tuple is looked at: nodes of an exact integral, or cells that cover all offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum, difference_of
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.probability.joint.nodes import Nodes, Pieces, atom_nodes
from coincide.probability.joint.placed_members import PlacedMember
from coincide.probability.joint.shifted_tuple import placed
from coincide.probability.trapezoids import terms_of
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplateColumns


@dataclass(frozen=True, eq=False)
class OffsetNodes:
    """Offsets of one clock, each with the probability it stands for; shape (n,)."""

    offset: ExactSum
    weight: FloatArray


def exact_nodes(error: Histogram, bends: ExactSum, degree: int) -> OffsetNodes:
    """Return nodes that integrate, over a clock's error, polynomials of a degree between bends, shape (m, 1)."""
    clock = placed(error)
    return _joined([*atom_nodes(clock), *_pieces(clock, bends).gauss(degree)])


def difference_nodes(error: Histogram, reference: Histogram, bends: ExactSum, degree: int) -> OffsetNodes:
    """Return nodes that integrate polynomials over how much slower a clock is than a reference, as `exact_nodes` does.

    Between the differences of two edges the density of that is a straight line.
    """
    edges_s = np.unique(np.subtract.outer(error.edges_s, reference.edges_s))[:, None]
    level = PlacedMember(
        ExactSum(edges_s, np.zeros_like(edges_s)), np.ones((len(edges_s) - 1, 1)), np.zeros((len(edges_s) - 1, 1))
    )
    nodes = _joined(_pieces(level, bends).gauss(degree + 1))
    terms = terms_of(*(TemplateColumns.of([each], len(each.mass)) for each in (reference, error)))
    _, density = terms.at_most_and_density(nodes.offset)
    exact = _differences_of_atoms(error, reference)
    offset = ExactSum(*(np.append(getattr(nodes.offset, part), getattr(exact.offset, part)) for part in _PARTS))
    return OffsetNodes(offset, np.append(nodes.weight * density, exact.weight))


def _differences_of_atoms(error: Histogram, reference: Histogram) -> OffsetNodes:
    (at_s, mass), (reference_s, reference_mass) = (
        (each.edges_s[:-1][exact], each.mass[exact])
        for each in (error, reference)
        for exact in [np.diff(each.edges_s) == 0]
    )
    apart = difference_of(at_s[:, None], reference_s)
    return OffsetNodes(ExactSum(apart.high.ravel(), apart.low.ravel()), np.outer(mass, reference_mass).ravel())


_PARTS = ("high", "low")


def _pieces(clock: PlacedMember, bends: ExactSum) -> Pieces:
    nothing = np.zeros((len(bends.high) - 1, 1))
    return Pieces(clock, {0: PlacedMember(bends, nothing, nothing)}, [(0, ExactSum(np.array(0.0), np.array(0.0)))])


def _joined(nodes: Sequence[Nodes]) -> OffsetNodes:
    if not nodes:
        return OffsetNodes(ExactSum(np.empty(0), np.empty(0)), np.empty(0))
    offset = ExactSum(*(np.concatenate([getattr(each.time, part) for each in nodes]) for part in _PARTS))
    return OffsetNodes(offset, np.concatenate([each.weight for each in nodes]))


@dataclass(frozen=True, eq=False)
class ClockCells:
    """Stretches of a clock's offsets, shape (n,), each with its probability; an exact offset has no width."""

    middle_s: FloatArray
    width_s: FloatArray
    weight: FloatArray

    @property
    def nodes(self) -> OffsetNodes:
        """The middles."""
        return OffsetNodes(ExactSum(self.middle_s, np.zeros_like(self.middle_s)), self.weight)


def cells_of(error: Histogram, between_s: tuple[float, float], count: int) -> ClockCells:
    """Cut the offsets of a clock that lie `between_s` into about so many cells, none across an edge of its error."""
    least, most = max(error.earliest_s, between_s[0]), min(error.latest_s, between_s[1])
    edges = np.clip(error.edges_s, least, most)
    inside = (error.edges_s[:-1] <= most) & (error.edges_s[1:] >= least) & (error.mass > 0)
    length = np.diff(error.edges_s)
    parts = [
        _cells(edges[bucket : bucket + 2], float(length[bucket]), float(error.mass[bucket]), (most - least) / count)
        for bucket in np.flatnonzero(inside).tolist()
    ]
    if not parts:
        return ClockCells(*(np.empty(0) for _ in range(3)))
    return ClockCells(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _cells(ends_s: FloatArray, length_s: float, mass: float, width_s: float) -> Sequence[FloatArray]:
    start, end = ends_s.tolist()
    if length_s == 0:
        return np.array([start]), np.zeros(1), np.array([mass])
    count = max(1, int(np.ceil((end - start) / width_s))) if width_s > 0 else 1
    edges = np.linspace(start, end, count + 1)
    width = np.diff(edges)
    return (edges[:-1] + edges[1:]) / 2, width, mass * width / length_s


def every_combination(counts: Sequence[int]) -> Int64Array:
    """Return each choice of one of so many of each, shape (len(counts), product of the counts); the last runs first."""
    return np.indices(counts, dtype=np.int64).reshape(len(counts), -1)
