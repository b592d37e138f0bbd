"""What a task answers: the tuples of its rows whose earliest member one of its chunks owns.

A tuple belongs to the chunk in which its earliest member lies. A chunk has all rows within the query's reach of those
that it owns, so it finds each of its tuples; no other chunk answers with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, PositionArray
from coincide.chunks.reach import graph_reach_us
from coincide.chunks.time_cells import Sight
from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.constraints.window import Window, checked_threshold
from coincide.joins.answers import Pairs, Tuples
from coincide.joins.detections import Detections
from coincide.joins.pairs.pair_join import BatchJoin
from coincide.joins.tuples.tuple_blocks import BatchTuples
from coincide.joins.tuples.tuple_join import window_join
from coincide.templates.histogram import Histogram


class TupleRows(NamedTuple):
    """Some tuples: for each role the rows of its side, -1 where the role is absent; and how probable each tuple is."""

    rows: Sequence[PositionArray]
    probability: Callable[[], FloatArray]


class ChunkedQuery(Protocol):
    """A join over sides: frames, or streams of files. `side_of_role` says which side plays each role."""

    @property
    def roles(self) -> Sequence[str]:
        """Names of a tuple's members, in their order."""

    @property
    def side_of_role(self) -> Sequence[int]:
        """The side of each role."""

    @property
    def looks_back(self) -> bool:
        """Whether events before a chunk decide about its tuples."""

    def sight(self, side: int, /) -> Sight:
        """Return which rows of a side beyond its own a cell of time has to see."""

    @property
    def sensors(self) -> SensorRule:
        """Which sensors two members may come from."""

    def reach_us(self, templates: Sequence[Sequence[Histogram]]) -> int:
        """Return the most that two members lie apart, for the templates of each side."""

    def blocks(self, sides: Sequence[Detections]) -> Iterator[TupleRows]:
        """Yield all tuples of these rows."""


@dataclass(frozen=True)
class PairQuery:
    """The timing join of one side with another, or with itself."""

    window: Window
    threshold: float
    sensors: SensorRule = "different"
    is_self_join: bool = False
    looks_back = False
    roles = ("a", "b")

    def __post_init__(self) -> None:
        checked_threshold(self.threshold)
        checked_sensor_rule(self.sensors)

    @property
    def side_of_role(self) -> Sequence[int]:
        """The side of each role."""
        return (0, 0) if self.is_self_join else (0, 1)

    def reach_us(self, templates: Sequence[Sequence[Histogram]]) -> int:
        """Return the most that two members lie apart."""
        graph = ConstraintGraph.binary("a", "b", self.window, self.threshold)
        return graph_reach_us(graph, None, {"a": templates[0], "b": templates[-1]})

    def sight(self, side: int) -> Sight:
        """Return what a cell sees: of two streams rows of `b` around it, and no `a` that it does not own."""
        is_b = side == 1
        return Sight(before=is_b, after=is_b or self.is_self_join)

    def blocks(self, sides: Sequence[Detections]) -> Iterator[TupleRows]:
        """Yield the pairs in the order of the left row's area and time."""
        a, b = sides[0], None if self.is_self_join else sides[1]
        join = BatchJoin.of(a, b, self.window, self.threshold, self.sensors)
        for left, right in join.blocks():
            yield TupleRows((left, right), partial(_probability, join.pairs(left, right)))


@dataclass(frozen=True)
class TupleQuery:
    """The window join of any number of roles; `sides` names the side of each role of the graph."""

    graph: ConstraintGraph
    sides: Mapping[str, int]
    threshold: float | None = None
    sensors: SensorRule = "different"
    at_least: int | AtLeast | None = None

    def __post_init__(self) -> None:
        checked_graph(self.graph)
        checked_sensor_rule(self.sensors)

    @property
    def roles(self) -> Sequence[str]:
        """The roles of the graph."""
        return self.graph.roles

    @property
    def side_of_role(self) -> Sequence[int]:
        """The side of each role."""
        return [self.sides[role] for role in self.graph.roles]

    @property
    def looks_back(self) -> bool:
        """Whether an earlier event may be what a set of at least so many lacks to be maximal."""
        return self.at_least is not None

    def reach_us(self, templates: Sequence[Sequence[Histogram]]) -> int:
        """Return the most that two members lie apart."""
        of_role = {role: templates[side] for role, side in self.sides.items()}
        return graph_reach_us(self.graph, self.threshold, of_role, self.at_least)

    def sight(self, _: int) -> Sight:
        """Return what a cell sees of any side."""
        return Sight(before=self.looks_back, after=True)

    def blocks(self, sides: Sequence[Detections]) -> Iterator[TupleRows]:
        """Yield the tuples in any order."""
        batches = {role: sides[side] for role, side in self.sides.items()}
        if self.at_least is not None:
            sets = window_join(
                batches,
                self.graph,
                threshold=self.threshold,
                sensors=self.sensors,
                at_least=self.at_least,
            )
            yield TupleRows(list(sets.members.T), partial(_probability, sets))
            return
        join = BatchTuples.of(batches, self.graph, None, self.threshold, self.sensors)
        for block in join.blocks(None):
            yield TupleRows(list(block.members.T), partial(_probability, join.tuples(block.members)))


def owned_tuples(query: ChunkedQuery, sides: Sequence[Detections], owned: Sequence[BoolArray]) -> Iterator[TupleRows]:
    """Yield the tuples whose earliest member is `owned`, a mask for each side; the others are other chunks' answers.

    The rows of a side have the number of their chunk as their area. A row that several chunks need is there once for
    each of them.
    """
    is_all = [bool(owned[side].all()) for side in query.side_of_role]
    is_owned = all(is_all) if query.looks_back else any(is_all)
    for block in query.blocks(sides):
        if is_owned:
            yield block
            continue
        kept = _is_owned(query, sides, owned, block.rows)
        if kept.all():
            yield block
        elif kept.any():
            rows = [column[kept] for column in block.rows]
            yield TupleRows(rows, partial(_some, block.probability, kept))


def _is_owned(
    query: ChunkedQuery, sides: Sequence[Detections], owned: Sequence[BoolArray], rows: Sequence[PositionArray]
) -> BoolArray:
    """Whether the earliest member of each tuple is owned.

    Rows that a chunk only sees lie behind those that it owns, unless it looks back. So in a tuple with an owned member
    the earliest one is owned. (Pairs of two streams belong to the cell of their `a`, of which a cell sees no other.)
    """
    members = list(zip(rows, query.side_of_role, strict=True))
    if not query.looks_back:
        kept = np.zeros(len(rows[0]), np.bool_)
        for column, side in members:
            kept |= owned[side].take(column)
        return kept
    times, is_owned = np.full((len(members), len(rows[0])), np.iinfo(np.int64).max), np.zeros(np.shape(rows), np.bool_)
    for nth, (column, side) in enumerate(members):
        present = np.flatnonzero(column >= 0)  # a side without rows has none
        times[nth, present] = sides[side].detected_at_us[column[present]]
        is_owned[nth, present] = owned[side][column[present]]
    earliest: BoolArray = np.take_along_axis(is_owned, times.argmin(axis=0)[None], axis=0)[0]
    return earliest


def _probability(answer: Pairs | Tuples) -> FloatArray:
    return answer.probability


def _some(probability: Callable[[], FloatArray], kept: BoolArray) -> FloatArray:
    return probability()[kept]
