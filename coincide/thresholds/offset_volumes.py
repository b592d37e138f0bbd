"""Offset volumes: how much room a graph leaves to the reported times of its members, for many sets of templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.constraints.graph import ConstraintGraph
from coincide.constraints.window import Window
from coincide.offsets.pair_work import offsets_work
from coincide.probability.joint.on_clocks import are_on_one_clock, share_clocks
from coincide.probability.joint.probability import joint_probabilities
from coincide.probability.joint.tuples import EventTuples
from coincide.templates.clocked import own_of
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.edge_offsets import ROTATIONS, GraphOffsets, even_points, spanning_tree
from coincide.thresholds.joint_costs import joint_cost

POINTS = 512  # at which the edges outside the tree are looked at
FEWEST_JOINT, MOST_JOINT = 8, 64  # of these, at which the joint probability is computed
JOINT_WORK = 16_384.0  # bucket pairs that these may take if they are more than the fewest
ROUNDING = 1e-12
ROWS_PER_BLOCK = 128

POINT_OF_EDGE = 2.0  # bucket pairs
SECONDS_OF_HALF_MS = 0.002  # in a window half of which is given in milliseconds


@dataclass(frozen=True, eq=False)
class Volumes:
    """Volumes in seconds to the power of one less than the roles, and their standard errors: 0 where exact."""

    value: FloatArray
    error: FloatArray


@dataclass(frozen=True, eq=False)
class GraphRows:
    """A graph of k roles, and in each row templates for its roles and the probabilities that they must reach.

    Attributes
    ----------
    graph : ConstraintGraph
        Windows closed at both ends; its own thresholds do not matter here.
    templates : sequence of k sequences of Histogram
    index : array of int64, shape (k, n)
        Which template of its role each row has.
    thresholds : array of float64, shape (edges, n)
        In (0, 1].
    joint : array of float64, shape (n,), optional
        The least joint probability. Where it is 1 so must be each edge's, and that is enough.
    half_width_ms : array of int64, shape (edges, n), optional
        Half of each row's own window of each edge by distance, without `joint`.
    """

    graph: ConstraintGraph
    templates: Sequence[Sequence[Histogram]]
    index: IndexArray
    thresholds: FloatArray
    joint: FloatArray | None = None
    half_width_ms: Int64Array | None = None

    def __len__(self) -> int:
        return len(self.index[0])

    def take(self, rows: IndexArray) -> GraphRows:
        """Return the rows at these positions."""
        joint = None if self.joint is None else self.joint[rows]
        widths_ms = None if self.half_width_ms is None else self.half_width_ms[:, rows]
        return GraphRows(self.graph, self.templates, self.index[:, rows], self.thresholds[:, rows], joint, widths_ms)

    def windows(self) -> list[Window | Int64Array]:
        """Return the window of each edge, or half of each row's own in milliseconds."""
        if self.half_width_ms is None:
            return [edge.window for edge in self.graph.edges]
        edges = zip(self.graph.edges, self.half_width_ms, strict=True)
        return [edge.window if edge.by_distance is None else widths_ms for edge, widths_ms in edges]

    def pairs(self) -> list[TemplatePairs]:
        """Return the templates of each edge."""
        ends = [(self.graph.roles.index(edge.a), self.graph.roles.index(edge.b)) for edge in self.graph.edges]
        return [TemplatePairs(self.templates[a], self.templates[b], self.index[a], self.index[b]) for a, b in ends]

    @property
    def tuples(self) -> EventTuples:
        """The templates of each row, at any time."""
        return EventTuples(self.templates, self.index, np.zeros_like(self.index))

    def has_open_joint(self) -> BoolArray:
        """Whether the edges alone do not say that the joint probability is reached, shape (n,)."""
        nothing: BoolArray = np.zeros(len(self), np.bool_)
        return nothing if self.joint is None or len(self.graph.edges) == 1 else self.joint < 1

    def joint_work(self) -> FloatArray:
        """Work of one joint probability in bucket pairs, shape (n,)."""
        whole, own = (
            np.array([_buckets(side)[at] for side, at in zip(templates, self.index, strict=True)])
            for templates in (self.templates, [[*map(own_of, side)] for side in self.templates])
        )
        buckets = np.where(are_on_one_clock(self.tuples), own, whole)
        kinds, kind = np.unique(buckets, axis=1, return_inverse=True)
        costs = np.array([joint_cost(self.graph, tuple(each)) for each in kinds.T.tolist()])
        work: FloatArray = costs[kind.ravel()]
        return work

    def joint_points(self) -> Int64Array:
        """At how many points the joint probability is computed, shape (n,)."""
        points = np.clip(JOINT_WORK // self.joint_work(), FEWEST_JOINT, MOST_JOINT).astype(np.int64)
        return np.where(self.has_open_joint(), points, 0)


def _buckets(templates: Sequence[Histogram]) -> Int64Array:
    return np.array([len(each.mass) for each in templates], np.int64)


def volumes_work(rows: GraphRows) -> FloatArray:
    """Work of each row's volume at most, in bucket pairs, shape (n,); what is certain follows from templates' ends.

    It is infinite where a joint probability is asked for, and some roles share a clock that others do not have: that
    takes hundreds of integrals over what the clock may have been.
    """
    graph = rows.graph
    of_edges = [
        offsets_work(pairs, _length_of(window)) * (threshold < 1)
        for pairs, window, threshold in zip(rows.pairs(), rows.windows(), rows.thresholds, strict=True)
    ]
    of_points = POINT_OF_EDGE * POINTS * len(graph.edges) * (rows.has_open_joint() | (not graph.is_tree))
    of_joint = rows.joint_points() * rows.joint_work()
    work: FloatArray = np.rint(np.sum(of_edges, axis=0) + of_points + of_joint)
    is_parted = share_clocks(rows.tuples) & ~are_on_one_clock(rows.tuples)
    work[rows.has_open_joint() & is_parted] = np.inf
    return work


def _length_of(window: Window | Int64Array) -> Window | FloatArray:
    if isinstance(window, Window):
        return window
    length_s: FloatArray = window.astype(np.float64) * SECONDS_OF_HALF_MS
    return length_s


def offset_volumes(rows: GraphRows) -> Volumes:
    """Return how much room the offsets of each row have, shape (n,); no row depends on the others.

    A volume counts the offsets of all roles to the first at which every edge reaches its threshold, and all together
    the joint one. For a tree without a joint threshold it is the product of the edges' lengths, exactly. For another
    graph it is that of a spanning tree, times the share of 512 evenly spread points at which the other edges hold. The
    joint probability is computed at 8 to 64 of the points that remain. The share of those that reach the threshold is
    the mean of its posterior after Jeffreys' prior, so that it is never 0, and its error is that posterior's.

    Examples
    --------
    Two exact times at most 2 s before or after a third, and at most 2 s apart: a hexagon of 12 square seconds.

    >>> from coincide import Window
    >>> graph = ConstraintGraph.clique("abc", Window(2))
    >>> exact = [[Histogram.point()]] * 3
    >>> volumes = offset_volumes(GraphRows(graph, exact, np.zeros((3, 1), np.int64), np.full((3, 1), 0.5)))
    >>> bool(abs(volumes.value[0] - 12) < 3 * volumes.error[0] < 0.6)
    True
    """
    value, error = np.zeros(len(rows)), np.zeros(len(rows))
    for start in range(0, len(rows), ROWS_PER_BLOCK):
        at = np.arange(start, min(start + ROWS_PER_BLOCK, len(rows)))
        value[at], error[at] = _volumes(rows.take(at))
    return Volumes(value, error)


def _volumes(rows: GraphRows) -> tuple[FloatArray, FloatArray]:
    graph, is_open = rows.graph, rows.has_open_joint()
    offsets = GraphOffsets(graph, rows.windows(), rows.pairs(), rows.thresholds)
    lengths = offsets.tree_lengths()
    if graph.is_tree and not is_open.any():
        return lengths, np.zeros(len(rows))
    along = np.tile(even_points(len(spanning_tree(graph)), POINTS // ROTATIONS), len(rows))
    row = np.repeat(np.arange(len(rows)), POINTS)
    times_us = offsets.times_us(row, along)
    holds = offsets.hold_beside_tree(row, times_us) & (lengths[row] > 0)
    share, error = _share_beside_tree(holds.reshape(len(rows), POINTS))
    if graph.is_tree:
        share, error = np.ones(len(rows)), np.zeros(len(rows))
    if is_open.any():
        row, times_us = row[holds & is_open[row]], times_us[:, holds & is_open[row]]
        in_turn = np.lexsort((offsets.off_centre(row, times_us), row))
        of_joint, joint_error = _share_of_joint(rows, row, times_us[:, in_turn])
        share, error = share * of_joint, np.hypot(error * of_joint, share * joint_error)
    return lengths * share, lengths * error


def _share_beside_tree(holds: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the share of points at which the edges outside the tree hold, and its error: half a point at least."""
    of_rotation = holds.reshape(len(holds), ROTATIONS, -1).mean(axis=2)
    error = of_rotation.std(axis=1, ddof=1) / np.sqrt(ROTATIONS)
    return np.maximum(of_rotation.mean(axis=1), 0.5 / POINTS), np.maximum(error, 0.5 / POINTS)


def _share_of_joint(rows: GraphRows, row: IndexArray, times_us: Int64Array) -> tuple[FloatArray, FloatArray]:
    """Return the share of the points that reach the joint threshold, and its error.

    The points of a row stand together, in an order in which those that reach it mostly come first. Some evenly spaced
    ones are looked at. The error follows from how often neighbours among these differ, taken as once at least.
    """
    in_all = np.bincount(row, minlength=len(rows))
    wanted = np.minimum(rows.joint_points(), in_all)
    row = np.repeat(np.arange(len(rows)), wanted)
    nth = np.arange(len(row)) - first_of(wanted)[row]
    at = first_of(in_all)[row] + (2 * nth + 1) * in_all[row] // (2 * wanted[row])  # the middle of each part
    joint = joint_probabilities(rows.graph, rows.templates, rows.index[:, row], times_us[:, at])
    least = np.zeros(len(rows)) if rows.joint is None else rows.joint
    reaches = joint.value >= least[row] - ROUNDING
    is_switch = (reaches[1:] != reaches[:-1]) & (row[1:] == row[:-1])
    switches = np.bincount(row[1:], weights=is_switch, minlength=len(rows))
    share = (np.bincount(row, weights=reaches, minlength=len(rows)) + 0.5) / (wanted + 1)
    several = np.maximum(wanted, 2)
    error = np.sqrt(np.maximum(switches, 1) / (2 * several * (several - 1)))
    is_open = rows.has_open_joint()
    return np.where(is_open, share, 1.0), np.where(is_open, error, 0.0)


def first_of(counts: IndexArray) -> IndexArray:
    """Where each group begins among rows that stand in groups of these sizes."""
    first: IndexArray = np.cumsum(counts) - counts
    return first
