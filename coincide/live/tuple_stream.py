"""WindowJoin: the streaming twin of `coincide.window_join`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy.typing as npt

from coincide.arrays.changes import Changes
from coincide.arrays.kinds import Int64Array
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.errors import GraphError
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections
from coincide.joins.retention import edge_reaches_us, farthest_by_stream, reaches_us
from coincide.joins.row_labels import RowLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.installed_graph import CompleteTuples, InstalledGraph, checked_at_least, with_thresholds
from coincide.joins.tuples.partial_sets import PartialSets
from coincide.live.batch_intake import BatchIntake, LiveJoin
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import USUAL_LIMITS, PairLimits, checked_pair_limits
from coincide.stream import Stream, checked_stream


def streams_by_role(graph: ConstraintGraph, streams: Iterable[Stream] | Mapping[str, Stream]) -> dict[str, Stream]:
    """Return the stream of each role."""
    if not isinstance(streams, Iterable):
        raise GraphError("streams", streams, f"those of the graph: {list(graph.roles)}")
    if isinstance(streams, Mapping):
        named = {role: checked_stream(f"streams[{role!r}]", stream) for role, stream in streams.items()}
    else:
        named = {checked_stream("streams", stream).name: stream for stream in streams}
    if set(named) != set(graph.roles):
        raise GraphError("streams", sorted(named), f"those of the graph: {list(graph.roles)}")
    declared: dict[str, Stream] = {}
    for stream in named.values():
        if declared.setdefault(stream.name, stream) != stream:
            raise GraphError("streams", stream, f"declared alike in every role: it is also {declared[stream.name]}")
    return {role: named[role] for role in graph.roles}


class WindowJoin(LiveJoin):
    """Tuples of one event a role that satisfy every edge of a graph, as their events come in.

    For events that are not late the tuples are those of `window_join`, whatever the order of arrival and however it is
    split into batches. Each tuple is found once, when its last member arrives.

    Parameters
    ----------
    graph : ConstraintGraph
    streams : iterable of Stream, or mapping of str to Stream
        A stream named as each role; or the stream of each role, where one stream has several (a self-join, see
        `window_join`).
    threshold : float, optional
        In (0, 1]: the least joint probability.
    at_least : int, optional
        Cliques only: so many members are enough, at least 2. The answer is then the sets of compatible events that
        cannot grow; what grows later is retracted.
    sensors : {"different", "same", "any"}
    keyed : bool
        Whether every batch comes with keys; only events with equal keys meet.
    max_buffered : int, optional
        Hard bound on the events kept of each stream, as in `TimingJoin`.
    pair_limits : PairLimits

    Attributes
    ----------
    dropped : int
        Events that `max_buffered` dropped while they might still have found partners.

    Raises
    ------
    CoincideError
        Streams that are not the graph's, a threshold, rule or bound that cannot be used, an open window, `at_least`
        for a graph that is no clique or with more members than it has, or for streams that play several roles.

    Examples
    --------
    Three detectors see one burst. The join answers with the first two at once; all three then replace them:

    >>> from coincide.templates.histogram import Histogram
    >>> from coincide.constraints.window import Window
    >>> graph = ConstraintGraph.clique(["a", "b", "c"], Window(10))
    >>> join = WindowJoin(graph, [Stream(name, longest_template_s=0) for name in "abc"], at_least=2)
    >>> events = [("a", 0), ("b", 6_000_000), ("c", 9_000_000)]
    >>> changes = [join.push(name, Detections([time_us], [Histogram.point()])) for name, time_us in events]
    >>> [each.insert.members.tolist() for each in changes]
    [[], [[0, 1, -1]], [[0, 1, 2]]]
    >>> changes[2].retract.members.tolist()
    [[0, 1, -1]]
    """

    def __init__(
        self,
        graph: ConstraintGraph,
        streams: Iterable[Stream] | Mapping[str, Stream],
        threshold: float | None = None,
        at_least: int | None = None,
        sensors: SensorRule = "different",
        *,
        keyed: bool = False,
        max_buffered: int | None = None,
        pair_limits: PairLimits = USUAL_LIMITS,
    ) -> None:
        roles = streams_by_role(checked_graph(graph), streams)
        by_name = {stream.name: stream for stream in roles.values()}
        exact = {role: stream.longest_template_us == 0 for role, stream in roles.items()}
        names = {role: stream.name for role, stream in roles.items()}
        thresholds = with_thresholds(graph, threshold, exact)
        self._installed = InstalledGraph(graph, names, thresholds, checked_pair_limits(pair_limits))
        rule = checked_sensor_rule(sensors)
        intake = BatchIntake(by_name, rule, RowLabels(orders_ties=self._installed.interchange.swaps, is_keyed=keyed))
        super().__init__(intake, StreamBuffers(by_name), max_buffered)
        joint = threshold if len(graph.edges) > 1 and not all(exact.values()) else None
        self._finder: CompleteTuples | PartialSets
        if at_least is None:
            self._finder = CompleteTuples(self._installed, joint, rule, intake.labels)
        else:
            checked_at_least(at_least, self._installed)
            self._finder = PartialSets(self._installed, at_least, joint, rule, intake.labels)
        reach_us = reaches_us(graph, roles) if at_least is None else edge_reaches_us(graph, roles)
        self._reach_us = farthest_by_stream(reach_us, self._installed.streams)

    def push(self, stream: str, detections: Detections, key: npt.ArrayLike | None = None) -> Changes[Tuples]:
        """Take a batch of one stream in; return the tuples that it completes.

        Parameters
        ----------
        stream : str
        detections : Detections
            Rows in the order of arrival. All batches give ids (unique ones), or none does.
        key : array_like, shape (n,), optional
            One label a row, integers or strings, if the join is keyed.

        Returns
        -------
        Changes of Tuples
            By id, or by the number of the row over all batches pushed so far; and which rows came late.

        Raises
        ------
        CoincideError
            As `TimingJoin.push`, or keys missing or in vain. Nothing of the batch has been taken in then.
        """
        accepted = self._intake.take(stream, detections, key)
        batch = self._buffers.coded(stream, accepted.on_time, detections.templates)
        insert, retract = self._finder.changes(stream, batch, self._buffers)
        self._make_room(stream)
        return Changes(insert, retract, accepted.late, accepted.late_by_us)

    @property
    def look_ups(self) -> LookUps:
        """Hits and misses of the caches of template pairs, and their size; nothing while tables will do."""
        return self._installed.look_ups

    def _evict(self) -> None:
        for refs in self._buffers.evict(self._intake.watermark.state_us, self._reach_us).values():
            self._forget(refs)
        self._installed.recode(self._buffers.templates, self._buffers.forget_templates())

    def _forget(self, refs: Int64Array) -> None:
        self._finder.forget(refs)
