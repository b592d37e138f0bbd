"""Chance points: tuples of unrelated detections that nearly match, chosen at random from all areas, with weights.

The rate of chance matches is an integral: over areas, over the sensors of every role by their rates, and over the
offsets of their reports. Points that fill that space evenly (a Kronecker sequence in several random rotations, always
the same ones) choose an area, a sensor for each role, and for each edge of a spanning tree an offset at which it
reaches a threshold. Each point weighs as much as it stands for: one over the density with which it is chosen.

To know the rate at every threshold, points are chosen at many thresholds at once (`levels`). The density of a point is
then the mean over all levels at which it could have been chosen, so that there are enough points also where a match is
most probable and rarest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph, Edge
from coincide.constraints.window import MICROSECONDS_PER_SECOND
from coincide.offsets.long_windows import least_probability
from coincide.queries.explaining.known_sensors import Players
from coincide.queries.explaining.template_cells import TemplateCells
from coincide.thresholds.edge_offsets import even_points, spanning_tree
from coincide.thresholds.offset_cells import OffsetCells


@dataclass(frozen=True, eq=False)
class ChancePoints:
    """Points and their weights in matches a second, shape (n,); those of a rotation stand together.

    Attributes
    ----------
    weight_hz : ndarray of float64, shape (n,)
        0 where a point is no possible match. The weights of all points together are the rate.
    probability : ndarray of float64, shape (edges, n)
        P of each edge.
    template : ndarray of int64, shape (roles, n)
    times_us : ndarray of int64, shape (roles, n)
        The first role is at 0.
    """

    weight_hz: FloatArray
    probability: FloatArray
    template: Int64Array
    times_us: Int64Array

    @classmethod
    def chosen(
        cls,
        graph: ConstraintGraph,
        played: Mapping[str, Players],
        rule: SensorRule,
        known: TemplateCells,
        levels: FloatArray,
        count: int,
    ) -> ChancePoints:
        """Choose about so many points; `levels` has the thresholds of all edges, shape (levels, edges)."""
        roles = [played[role] for role in graph.roles]
        every = even_points(2 * len(roles) + 1, count)
        of_area, of_level, of_roles, along = np.split(every, [1, 2, 2 + len(roles)])
        rate, row = _sensors(roles, of_area[0], of_roles)
        sensor = np.array([each.sensor[at] for each, at in zip(roles, row, strict=True)])
        template = np.array([each.template[at] for each, at in zip(roles, row, strict=True)])
        level = (of_level[0] * len(levels)).astype(np.int64)
        probability = np.zeros((len(graph.edges), len(level)))
        times_us, tree = np.zeros(template.shape, np.int64), spanning_tree(graph)
        room = np.ones((len(levels), len(level)))  # of the offsets that reach each level, in s to the power of the tree
        for (parent, nth), place in zip(tree, along, strict=True):
            edge = graph.edges[nth]
            a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
            choice = _Choice(*known.of(edge.window, template[a], template[b]), levels[:, nth])
            offset_us, probability[nth] = choice.offsets(level, place)
            room *= choice.lengths_s * choice.is_at(probability[nth])
            if edge.a == parent:
                times_us[b] = times_us[a] + offset_us
            else:
                times_us[a] = times_us[b] - offset_us
        for nth in {*range(len(graph.edges))} - {nth for _, nth in tree}:
            probability[nth] = _beside_tree(graph, graph.edges[nth], known, template, times_us)
        density = np.divide(1.0, room, out=np.zeros_like(room), where=room > 0).mean(axis=0)
        is_possible = (density > 0) & _are_allowed(sensor, rule) & (room[level, np.arange(len(level))] > 0)
        weight = np.divide(rate / len(level), density, out=np.zeros(len(level)), where=is_possible)
        return cls(weight, probability, template, times_us)


class _Choice:
    """The offsets of a template pair for each point, in the order of their probability, greatest first."""

    def __init__(self, cells: OffsetCells, pair: IndexArray, levels: FloatArray) -> None:
        used, self._pair = np.unique(pair, return_inverse=True)
        self._cells, self._levels = cells.take(used), levels
        self._order = np.argsort(-self._cells.probability, axis=1, kind="stable")
        width_s = np.take_along_axis(self._cells.width_s, self._order, axis=1)
        self._until_s = np.cumsum(width_s, axis=1)
        reached = [self._cells.lengths_s(level)[self._pair] for level in levels]
        self.lengths_s: FloatArray = np.array(reached)

    def is_at(self, probability: FloatArray) -> BoolArray:
        """Whether each point reaches each level, shape (levels, n)."""
        return np.array([probability >= least_probability(level) for level in self._levels])

    def offsets(self, level: IndexArray, place: FloatArray) -> tuple[Int64Array, FloatArray]:
        """Return the offset of each point so far along those that reach its level, in [0, 1), and its probability."""
        into_s = place * self.lengths_s[level, np.arange(len(level))]
        whole_s = self._until_s[:, -1]
        before_s = np.cumsum(whole_s) - whole_s
        flat = (before_s[:, None] + self._until_s).ravel()
        cells = self._until_s.shape[1]
        at = np.searchsorted(flat, before_s[self._pair] + into_s, side="right") - self._pair * cells
        at = np.clip(at, 0, cells - 1)
        cell = self._order[self._pair, at]
        begin_s = np.where(at > 0, self._until_s[self._pair, at - 1], 0.0)
        width_us = np.rint(self._cells.width_s[self._pair, cell] * MICROSECONDS_PER_SECOND).astype(np.int64)
        rest_us = np.floor((into_s - begin_s) * MICROSECONDS_PER_SECOND).astype(np.int64)
        edge_us = self._cells.edges_us()[self._pair, cell]
        offset_us = self._cells.first_us[self._pair] + edge_us + np.clip(rest_us, 0, np.maximum(width_us - 1, 0))
        return offset_us, self._cells.probability[self._pair, cell]


def _sensors(roles: Sequence[Players], of_area: FloatArray, of_roles: FloatArray) -> tuple[float, list[IndexArray]]:
    """Choose an area and a sensor for each role; return the product of all rates, summed over areas, and the rows."""
    areas = 1 + max((int(each.area.max(initial=-1)) for each in roles), default=-1)
    of_area_hz = [np.bincount(each.area, each.rate_hz, areas) for each in roles]
    product = np.prod(of_area_hz, axis=0)
    area = _at(np.cumsum(product), of_area * product.sum())
    rows = []
    for players, total_hz, place in zip(roles, of_area_hz, of_roles, strict=True):
        order = np.argsort(players.area, kind="stable")
        before_hz = np.cumsum(total_hz) - total_hz
        until_hz = np.cumsum(players.rate_hz[order])
        rows.append(order[_at(until_hz, before_hz[area] + place * total_hz[area])])
    return float(product.sum()), rows


def _at(until: FloatArray, place: FloatArray) -> IndexArray:
    """Return which part each place lies in, where parts end at `until`; a part of no length is never meant."""
    last = int(np.searchsorted(until, until[-1]))
    at: IndexArray = np.minimum(np.searchsorted(until, place, side="right"), last)
    return at


def _are_allowed(sensor: Int64Array, rule: SensorRule) -> BoolArray:
    """Whether the sensors of each point, shape (roles, n), may make a match."""
    allowed: BoolArray = np.ones(sensor.shape[1], np.bool_)
    for one, other in combinations(sensor, 2) if rule != "any" else ():
        allowed &= ((one == other) & (one >= 0)) == (rule == "same")
    return allowed


def _beside_tree(
    graph: ConstraintGraph, edge: Edge, known: TemplateCells, template: Int64Array, times_us: Int64Array
) -> FloatArray:
    a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
    cells, at = known.of(edge.window, template[a], template[b])
    return cells.at(at, times_us[b] - times_us[a])
