"""window_join: the exact join of any number of batches, the default of all window joins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.errors import DetectionsError
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections, checked_frame
from coincide.joins.labels import Keys, keyed_frames
from coincide.joins.tuples.judged_edges import are_exact, with_thresholds
from coincide.joins.tuples.members import MemberColumns, in_order
from coincide.joins.tuples.tuple_blocks import BatchTuples, Block, maximal_tuples

Where = Callable[[Int64Array], BoolArray]


def window_join(
    frames: Mapping[str, Detections],
    graph: ConstraintGraph,
    key: Keys | None = None,
    threshold: float | None = None,
    where: Where | None = None,
    sensors: SensorRule = "different",
    *,
    at_least: int | None = None,
) -> Tuples:
    """Tuples of one event a stream that satisfy every edge of the graph, and all of them at once.

    Parameters
    ----------
    frames : mapping of str to Detections
        A frame for each stream of the graph, rows in any order. One frame under two names is a self-join: its members
        are different events, and where the graph is a uniform clique with one threshold, each set of events counts
        once, its members in the order of (detected_at, sensor, id, position).
    graph : ConstraintGraph
    key : mapping of str to array_like, optional
        For each stream one label a row, integers or strings: only events with equal keys (in one area) meet.
    threshold : float, optional
        In (0, 1]: the least joint probability, that every edge's window holds.
    where : callable, optional
        Any other condition: takes positions of members, int64 (n, k), returns which to keep, bool (n,).
    sensors : {"different", "same", "any"}
        Which sensors the members may come from. Detections without a sensor differ from all others.
    at_least : int, optional
        Cliques only: so many members are enough, at least 2. The answer is then the sets of compatible events, at most
        one of each stream, that cannot grow. Found event by event in Python, as a stream's are; without `where`.

    Returns
    -------
    Tuples
        Positions of the rows, in lexicographic order; -1 where a member is absent.

    Raises
    ------
    CoincideError
        Frames that are not those of the graph's streams or do not fit each other, thresholds, keys or a rule that
        cannot be used, or an edge without any threshold where times are not exact.

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
    >>> found = window_join({"gate": gate, "bridge": bridge, "tower": tower}, valley)
    >>> found.members.tolist(), found.edge_probability.tolist()
    ([[0, 0, 0]], [[1.0, 1.0]])
    """
    if at_least is not None:
        return _sets(frames, graph, key, threshold, where, sensors, at_least)
    blocks = list(_blocks(frames, graph, key, threshold, where, sensors))
    nobody = np.empty((len(graph.roles), 0), np.int64)
    members = np.hstack([nobody, *(block.members.T for block in blocks)]).T
    if not all(block.is_in_order for block in blocks):
        members = in_order(members)
    return _tuples(frames, graph, members)


def window_join_blocks(
    frames: Mapping[str, Detections],
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
    for block in _blocks(frames, graph, key, threshold, where, sensors):
        yield _tuples(frames, graph, block.members)


def _blocks(
    frames: Mapping[str, Detections],
    graph: ConstraintGraph,
    key: Keys | None,
    threshold: float | None,
    where: Where | None,
    sensors: SensorRule,
) -> Iterator[Block]:
    thresholds, joint = _thresholds(frames, graph, threshold)
    join = BatchTuples(keyed_frames(frames, key), graph, thresholds, checked_sensor_rule(sensors))
    for members, is_in_order in join.blocks():
        kept = members if where is None else members[_kept(where, members)]
        if joint is not None:
            kept = kept[_columns(frames, graph, kept).at_least(graph, joint)]
        if len(kept):
            yield Block(kept, is_in_order)


def _sets(
    frames: Mapping[str, Detections],
    graph: ConstraintGraph,
    key: Keys | None,
    threshold: float | None,
    where: Where | None,
    sensors: SensorRule,
    at_least: int,
) -> Tuples:
    if where is not None:
        raise DetectionsError("where", where, "None with at_least: it could not tell which sets may grow")
    thresholds, joint = _thresholds(frames, graph, threshold)
    return maximal_tuples(keyed_frames(frames, key), graph, thresholds, joint, checked_sensor_rule(sensors), at_least)


def _thresholds(
    frames: Mapping[str, Detections], graph: ConstraintGraph, threshold: float | None
) -> tuple[list[float], float | None]:
    """Return the threshold of each edge, and the joint one if the edges leave it open; checks the frames' names."""
    needed = f"a frame for each stream of the graph: {list(checked_graph(graph).roles)}"
    if not isinstance(frames, Mapping):
        raise DetectionsError("frames", frames, needed)
    if set(frames) != set(graph.roles):
        raise DetectionsError("frames", sorted(frames), needed)
    for name, frame in frames.items():
        checked_frame(f"frames[{name!r}]", frame)
    exact = {name: are_exact(frame.templates) for name, frame in frames.items()}
    is_open = len(graph.edges) > 1 and not all(exact.values())
    return with_thresholds(graph, threshold, exact), threshold if is_open else None


def _kept(where: Where, members: Int64Array) -> BoolArray:
    keep = np.asarray(where(members))
    if keep.shape != (len(members),) or keep.dtype != np.bool_:
        what = f"an array of {keep.dtype} with shape {keep.shape}"
        raise DetectionsError("where", what, f"bool for each of the {len(members)} tuples")
    return keep


def _tuples(frames: Mapping[str, Detections], graph: ConstraintGraph, members: Int64Array) -> Tuples:
    return Tuples(
        members,
        lambda: _columns(frames, graph, members).probabilities(graph),
        lambda: _columns(frames, graph, members).edge_probabilities(graph),
    )


def _columns(frames: Mapping[str, Detections], graph: ConstraintGraph, members: Int64Array) -> MemberColumns:
    streams = [(frames[name], at) for name, at in zip(graph.roles, members.T, strict=True)]
    return MemberColumns(
        [stream.templates for stream, _ in streams],
        np.array([stream.template_index[at] for stream, at in streams]),
        np.array([stream.detected_at_us[at] for stream, at in streams]),
    )
