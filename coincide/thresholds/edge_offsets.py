"""Edge offsets: which offsets satisfy each edge of a graph, and points that choose among those of a spanning tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.constraints.graph import ConstraintGraph, Edge
from coincide.constraints.window import MICROSECONDS_PER_SECOND, Window
from coincide.offsets.distance_offsets import distance_offset_ranges
from coincide.offsets.satisfying import offset_ranges
from coincide.templates.template_columns import TemplatePairs

ROTATIONS = 16  # independent shifts of the same points: their spread is the error
SEED = 20160824


class EdgeOffsets:
    """The offsets at which each template pair reaches its own threshold; what pairs have in common is found once.

    A row is the position of a pair among those given. There is one window, or half of each pair's own in milliseconds.
    """

    def __init__(self, pairs: TemplatePairs, window: Window | Int64Array, threshold: float | FloatArray) -> None:
        wanted = np.broadcast_to(np.asarray(threshold, np.float64), len(pairs))
        widths_ms = np.zeros(len(pairs), np.int64) if isinstance(window, Window) else window
        alike = np.stack((pairs.u_index, pairs.v_index, wanted, widths_ms))
        kinds, first, kind = np.unique(alike, axis=1, return_index=True, return_inverse=True)
        self._kind: IndexArray = kind.ravel()
        if isinstance(window, Window):
            self._ranges = offset_ranges(pairs.take(first), window, wanted[first])
        else:
            self._ranges = distance_offset_ranges(pairs.take(first), widths_ms[first], wanted[first])
        self._lengths = self._ranges.right - self._ranges.left + 1
        self._ends = np.cumsum(self._lengths)
        least_us, most_us = self._ranges.hulls(kinds.shape[1])
        self._centre_us, self._radius_us = (least_us + most_us) / 2, (most_us - least_us + 1) / 2
        edges = np.searchsorted(self._ranges.pair, np.arange(kinds.shape[1] + 1))
        self._first, self._count = edges[:-1], np.diff(edges)
        self._before = np.append(0, self._ends)[edges[:-1]]
        self._whole = np.append(0, self._ends)[edges[1:]] - self._before

    def lengths_s(self) -> FloatArray:
        """How long the offsets of each row are in seconds, shape (rows,)."""
        lengths: FloatArray = self._whole[self._kind] / MICROSECONDS_PER_SECOND
        return lengths

    def chosen(self, rows: IndexArray, along: FloatArray) -> Int64Array:
        """Return the offset of each row that lies so far along all of its offsets, in [0, 1); 0 if it has none."""
        if len(self._ends) == 0:
            return np.zeros(len(rows), np.int64)
        kind = self._kind[rows]
        place = self._before[kind] + (along * self._whole[kind]).astype(np.int64)
        at = np.minimum(np.searchsorted(self._ends, place, side="right"), len(self._ends) - 1)
        offset_us: Int64Array = self._ranges.left[at] + place - (self._ends[at] - self._lengths[at])
        return np.where(self._whole[kind] > 0, offset_us, 0)

    def hold(self, rows: IndexArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset is one of its row's, shape (n,)."""
        kind = self._kind[rows]
        holds: BoolArray = np.zeros(len(rows), np.bool_)
        for nth in range(self._count.max(initial=0)):
            at = np.minimum(self._first[kind] + nth, len(self._ends) - 1)
            inside = (self._ranges.left[at] <= offset_us) & (offset_us <= self._ranges.right[at])
            holds |= inside & (nth < self._count[kind])
        return holds

    def off_centre(self, rows: IndexArray, offset_us: Int64Array) -> FloatArray:
        """How far each offset is from the middle of its row's, up to 1 at the ends, shape (n,)."""
        kind = self._kind[rows]
        distance: FloatArray = np.abs(offset_us - self._centre_us[kind]) / self._radius_us[kind]
        return distance


class GraphOffsets:
    """Offsets that satisfy the edges of a graph, by row; thresholds are of shape (edges, rows).

    `windows` are those of the edges, or half of each row's own in milliseconds.
    """

    def __init__(
        self,
        graph: ConstraintGraph,
        windows: Sequence[Window | Int64Array],
        pairs: Sequence[TemplatePairs],
        thresholds: FloatArray,
    ) -> None:
        self._graph, self._tree = graph, spanning_tree(graph)
        self._edges = [EdgeOffsets(*of_edge) for of_edge in zip(pairs, windows, thresholds, strict=True)]

    def tree_lengths(self) -> FloatArray:
        """Return the product of the lengths of the tree's offsets, in seconds to the power of its edges, (rows,)."""
        lengths: FloatArray = np.prod([self._edges[nth].lengths_s() for _, nth in self._tree], axis=0)
        return lengths

    def times_us(self, rows: IndexArray, along: FloatArray) -> Int64Array:
        """Return the times of the roles, (roles, n), where each edge of the tree has the offset so far along its own.

        `along` is of shape (edges of the tree, n). The first role is at 0.
        """
        roles = self._graph.roles
        times_us = np.zeros((len(roles), len(rows)), np.int64)
        for (parent, nth), places in zip(self._tree, along, strict=True):
            edge, offset_us = self._graph.edges[nth], self._edges[nth].chosen(rows, places)
            child = edge.b if edge.a == parent else edge.a
            forward = offset_us if edge.a == parent else -offset_us
            times_us[roles.index(child)] = times_us[roles.index(parent)] + forward
        return times_us

    def hold_beside_tree(self, rows: IndexArray, times_us: Int64Array) -> BoolArray:
        """Whether every edge outside the tree holds at each of these times, shape (n,)."""
        holds: BoolArray = np.ones(len(rows), np.bool_)
        in_tree = {nth for _, nth in self._tree}
        for nth, edge in enumerate(self._graph.edges):
            if nth not in in_tree:
                at = np.flatnonzero(holds)
                holds[at] = self._edges[nth].hold(rows[at], self._offset_us(edge, times_us[:, at]))
        return holds

    def off_centre(self, rows: IndexArray, times_us: Int64Array) -> FloatArray:
        """Return the squares of how far from the middle the offsets of all edges are, added up, shape (n,).

        The less it is the more probable it is as a rule that all windows hold at once.
        """
        edges = zip(self._edges, self._graph.edges, strict=True)
        far = [own.off_centre(rows, self._offset_us(edge, times_us)) for own, edge in edges]
        off_centre: FloatArray = np.square(far).sum(axis=0)
        return off_centre

    def _offset_us(self, edge: Edge, times_us: Int64Array) -> Int64Array:
        roles = self._graph.roles
        offset_us: Int64Array = times_us[roles.index(edge.b)] - times_us[roles.index(edge.a)]
        return offset_us


def spanning_tree(graph: ConstraintGraph) -> list[tuple[str, int]]:
    """Return edges that reach every role from the first, nearest first: the role each starts from, and its number."""
    reached, tree = {graph.roles[0]}, list[tuple[str, int]]()
    while len(reached) < len(graph.roles):
        for nth, edge in enumerate(graph.edges):
            known = edge.pair & reached
            if len(known) == 1:
                [parent] = known
                tree.append((parent, nth))
                reached |= edge.pair
    return tree


def even_points(dimensions: int, count: int) -> FloatArray:
    """Return a Kronecker sequence of the generalised golden ratio in `ROTATIONS` shifts, (dimensions, 16 count).

    The points of one shift stand together.
    """
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))  # the root of x**(d + 1) = x + 1
    steps = (1 / ratio) ** np.arange(1, dimensions + 1)
    shifts = np.random.default_rng(SEED).random((ROTATIONS, dimensions, 1))
    along = (shifts + steps[:, None] * np.arange(1, count + 1)) % 1.0
    return np.concatenate(list(along), axis=1)
