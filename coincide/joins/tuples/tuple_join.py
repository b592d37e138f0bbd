"""window_join: the exact join of any number of batches, the default of all window joins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.errors import DetectionsError
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections, checked_batch
from coincide.joins.labels import Keys, keyed_batches
from coincide.joins.tuples.judged_edges import are_exact, with_thresholds
from coincide.joins.tuples.members import MemberColumns, in_order
from coincide.joins.tuples.tuple_blocks import BatchTuples, MemberBlock, maximal_tuples

Where = Callable[[Int64Array], BoolArray]


def window_join(
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    key: Keys | None = None,
    threshold: float | None = None,
    where: Where | None = None,
    sensors: SensorRule = "different",
    *,
    at_least: int | None = None,
) -> Tuples:
    """Tuples of one event a role that satisfy every edge of the graph, and all of them at once.

    Parameters
    ----------
    batches : mapping of str to Detections
        A batch for each role of the graph, rows in any order. One batch in two roles is a self-join: its members are
        different events. Where the graph is a uniform clique with one threshold, each set of events then counts once,
        its members in the order of (detected_at, sensor, id, position).
    graph : ConstraintGraph
    key : mapping of str to array_like, optional
        For each role one label a row, integers or strings: only events with equal keys (in one area) meet.
    threshold : float, optional
        In (0, 1]: the least joint probability, that every edge's window holds.
    where : callable, optional
        Any other condition: takes positions of members, int64 (n, k), returns which to keep, bool (n,).
    sensors : {"different", "same", "any"}
        Which sensors the members may come from. Detections without a sensor differ from all others.
    at_least : int, optional
        Cliques only: so many members are enough, at least 2. The answer is then the sets of compatible events, at most
        one of each role, that cannot grow. Python finds them event by event, as in a stream; `where` is not allowed.

    Returns
    -------
    Tuples
        Positions of the rows, in lexicographic order; -1 where a member is absent.

    Raises
    ------
    CoincideError
        Batches that are not those of the graph's roles or do not fit each other; a threshold, key or rule that cannot
        be used; or an edge without any threshold where times are not exact.

    References
    ----------
    The forms are those of Hammad, Aref, Elmagarmid: Stream Window Join: Tracking Moving Objects in Sensor-Network
    Databases (2003); there times are exact.

    Examples
    --------
    A cloud of gas passes three sensors along a valley, and a fourth event is too late to belong to it:

    >>> from coincide.templates.histogram import Histogram
    >>> from coincide.constraints.window import Window
    >>> clock = [Histogram.uniform(-1, 1)]
    >>> gate, bridge = Detections([0], clock), Detections([40_000_000, 99_000_000], clock)
    >>> tower = Detections([70_000_000], clock)
    >>> valley = ConstraintGraph.path(["gate", "bridge", "tower"], Window(lo_s=0, hi_s=60), threshold=0.9)
    >>> clouds = window_join({"gate": gate, "bridge": bridge, "tower": tower}, valley)
    >>> clouds.members.tolist(), clouds.edge_probability.tolist()
    ([[0, 0, 0]], [[1.0, 1.0]])
    """
    join = _CheckedJoin.of(batches, graph, key, threshold, sensors)
    if at_least is not None:
        return join.sets(where, at_least)
    blocks = list(join.blocks(where))
    nobody = np.empty((len(graph.roles), 0), np.int64)
    members = np.hstack([nobody, *(block.members.T for block in blocks)]).T
    return join.tuples(members if all(block.is_in_order for block in blocks) else in_order(members))


def window_join_blocks(
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    key: Keys | None = None,
    threshold: float | None = None,
    where: Where | None = None,
    sensors: SensorRule = "different",
) -> Iterator[Tuples]:
    """`window_join` in parts, for answers that need not fit in memory.

    Parameters are those of `window_join`. A part has about 64k tuples, or as many as one event more makes; parts and
    the tuples in them come in any order.

    Examples
    --------
    >>> from coincide.templates.histogram import Histogram
    >>> from coincide.constraints.window import Window
    >>> a = Detections(range(100), [Histogram.point()])
    >>> graph = ConstraintGraph.clique(["x", "y", "z"], Window(0.0001))
    >>> sum(len(part) for part in window_join_blocks({"x": a, "y": a, "z": a}, graph))
    161700
    """
    join = _CheckedJoin.of(batches, graph, key, threshold, sensors)
    for block in join.blocks(where):
        yield join.tuples(block.members)


@dataclass(frozen=True, eq=False)
class _CheckedJoin:
    """The arguments of a join, checked: `keyed` has (area, key) in place of the area; `joint` is None if edges do."""

    given: Mapping[str, Detections]
    keyed: Mapping[str, Detections]
    graph: ConstraintGraph
    thresholds: Sequence[float]
    joint: float | None
    sensors: SensorRule

    @classmethod
    def of(
        cls,
        batches: Mapping[str, Detections],
        graph: ConstraintGraph,
        key: Keys | None,
        threshold: float | None,
        sensors: SensorRule,
    ) -> _CheckedJoin:
        _check_batches(batches, checked_graph(graph))
        exact = {role: are_exact(batch.templates) for role, batch in batches.items()}
        thresholds = with_thresholds(graph, threshold, exact)
        joint = threshold if len(graph.edges) > 1 and not all(exact.values()) else None
        return cls(batches, keyed_batches(batches, key), graph, thresholds, joint, checked_sensor_rule(sensors))

    def blocks(self, where: Where | None) -> Iterator[MemberBlock]:
        for members, is_in_order in BatchTuples(self.keyed, self.graph, self.thresholds, self.sensors).blocks():
            kept = members if where is None else members[_kept(where, members)]
            if self.joint is not None:
                kept = kept[self._columns(kept).at_least(self.graph, self.joint)]
            if len(kept):
                yield MemberBlock(kept, is_in_order)

    def sets(self, where: Where | None, at_least: int) -> Tuples:
        if where is not None:
            raise DetectionsError("where", where, "None with at_least: it could not tell which sets may grow")
        return maximal_tuples(self.keyed, self.graph, self.thresholds, self.joint, self.sensors, at_least)

    def tuples(self, members: Int64Array) -> Tuples:
        return Tuples(
            members,
            lambda: self._columns(members).probabilities(self.graph),
            lambda: self._columns(members).edge_probabilities(self.graph),
        )

    def _columns(self, members: Int64Array) -> MemberColumns:
        batches = [(self.given[role], at) for role, at in zip(self.graph.roles, members.T, strict=True)]
        return MemberColumns(
            [batch.templates for batch, _ in batches],
            np.array([batch.template_index[at] for batch, at in batches]),
            np.array([batch.detected_at_us[at] for batch, at in batches]),
        )


def _check_batches(batches: Mapping[str, Detections], graph: ConstraintGraph) -> None:
    needed = f"one Detections for each role of the graph: {list(graph.roles)}"
    if not isinstance(batches, Mapping):
        raise DetectionsError("batches", batches, needed)
    if set(batches) != set(graph.roles):
        raise DetectionsError("batches", sorted(batches), needed)
    for role, batch in batches.items():
        checked_batch(f"batches[{role!r}]", batch)


def _kept(where: Where, members: Int64Array) -> BoolArray:
    keep = np.asarray(where(members))
    if keep.shape != (len(members),) or keep.dtype != np.bool_:
        what = f"an array of {keep.dtype} with shape {keep.shape}"
        raise DetectionsError("where", what, f"bool for each of the {len(members)} tuples")
    return keep
