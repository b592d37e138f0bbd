"""WindowJoin: the streaming twin of `coincide.window_join`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy.typing as npt

from coincide.arrays.changes import Changes
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.errors import GraphError
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections
from coincide.joins.retention import checked_bound, edge_reaches_us, reaches_us
from coincide.joins.row_labels import MemberLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.installed_graph import CompleteTuples, InstalledGraph, checked_at_least
from coincide.joins.tuples.judged_edges import with_thresholds
from coincide.joins.tuples.partial_sets import PartialSets
from coincide.live.arrivals import FrameIntake
from coincide.offsets.cache import USUAL_LIMITS, LookUps, PairLimits, checked_pair_limits
from coincide.stream import Stream, checked_stream


def players(graph: ConstraintGraph, streams: Iterable[Stream] | Mapping[str, Stream]) -> dict[str, Stream]:
    """Return who plays each of the graph's streams."""
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


def reach_by_stream(graph: ConstraintGraph, streams: Mapping[str, Stream], *, may_be_absent: bool) -> dict[str, int]:
    """Return how far behind the watermark each stream's events are needed: the farthest of the roles that it plays."""
    reaches = (edge_reaches_us if may_be_absent else reaches_us)(graph, streams).tolist()
    farthest: dict[str, int] = {}
    for role, reach_us in zip(graph.roles, reaches, strict=True):
        name = streams[role].name
        farthest[name] = min(farthest.get(name, 0), reach_us)
    return farthest


Finder = CompleteTuples | PartialSets


class WindowJoin:
    """Tuples of one event a stream that satisfy every edge of a graph, as their events come in.

    For events that are not late the tuples are those of `window_join`, whatever the order of arrival and however it is
    split into frames. Each tuple is found once, when its last member arrives.

    Parameters
    ----------
    graph : ConstraintGraph
    streams : iterable of Stream, or mapping of str to Stream
        The graph's streams by their names; or who plays each of them, where one stream plays several (a self-join, see
        `window_join`).
    threshold : float, optional
        In (0, 1]: the least joint probability.
    at_least : int, optional
        Cliques only: so many members are enough, at least 2. The answer is then the sets of compatible events that
        cannot grow; what grows later is retracted.
    sensors : {"different", "same", "any"}
    keyed : bool
        Whether every frame comes with keys; only events with equal keys meet.
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
    Three detectors of one burst; two within 10 s are told at once, the third takes their place:

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
        roles = players(checked_graph(graph), streams)
        by_name = {stream.name: stream for stream in roles.values()}
        exact = {role: stream.longest_template_us == 0 for role, stream in roles.items()}
        names = {role: stream.name for role, stream in roles.items()}
        thresholds = with_thresholds(graph, threshold, exact)
        self._installed = InstalledGraph(graph, names, thresholds, checked_pair_limits(pair_limits))
        rule = checked_sensor_rule(sensors)
        orders_ties = self._installed.are_roles_alike and len(by_name) < len(roles)
        self._intake = FrameIntake(by_name, rule, orders_ties=orders_ties)
        self._labels = MemberLabels(self._intake.labels, is_keyed=keyed)
        self._held = StreamBuffers(by_name)
        self._finder = self._finder_of(at_least, None if all(exact.values()) else threshold, rule)
        self._reach_us = reach_by_stream(graph, roles, may_be_absent=at_least is not None)
        self._max_buffered = checked_bound(max_buffered)
        self.dropped = 0

    def push(self, stream: str, frame: Detections, key: npt.ArrayLike | None = None) -> Changes[Tuples]:
        """Take a frame of one stream in; return the tuples that it completes.

        Parameters
        ----------
        stream : str
        frame : Detections
            Rows in the order of arrival. All frames give ids (unique ones), or none does.
        key : array_like, shape (n,), optional
            One label a row, integers or strings, if the join is keyed.

        Returns
        -------
        Changes of Tuples
            By id, or by the number of the row over all frames pushed so far; and which rows came late.

        Raises
        ------
        CoincideError
            As `TimingJoin.push`, or keys missing or in vain. Nothing of the frame has been taken in then.
        """
        keys = self._labels.checked_keys(stream, frame, key)
        accepted = self._intake.take(stream, frame)
        self._labels.append_keys(keys)
        batch = self._held.coded(stream, accepted.batch, frame.templates)
        insert, retract = self._finder.changes(stream, batch, self._held)
        self._evict(stream)
        return Changes(insert, retract, accepted.late, accepted.late_by_us)

    def buffered(self, stream: str) -> int:
        """How many events of a stream are held."""
        return len(self._held.buffer(stream))

    @property
    def templates_known(self) -> int:
        """How many templates are held: of the events buffered, and some that wait to be forgotten."""
        return self._held.templates_known

    @property
    def look_ups(self) -> LookUps:
        """Hits and misses of the caches of template pairs, and their size; nothing while tables will do."""
        return self._installed.look_ups

    def watermark_us(self, area: int | str | None = None) -> int:
        """How far an area has come, see `TimingJoin`."""
        return self._intake.watermark_us(area)

    def _finder_of(self, at_least: int | None, threshold: float | None, rule: SensorRule) -> Finder:
        graph = self._installed.graph
        joint = threshold if len(graph.edges) > 1 else None
        if at_least is None:
            return CompleteTuples(self._installed, joint, rule, self._labels)
        return PartialSets(self._installed, checked_at_least(at_least, self._installed), joint, rule, self._labels)

    def _evict(self, pushed: str) -> None:
        if self._max_buffered is not None and self.buffered(pushed) > self._max_buffered:
            self._evict_unneeded()
            oldest = self._held.evict_oldest(pushed, self.buffered(pushed) - self._max_buffered)
            self._finder.forget(oldest)
            self.dropped += len(oldest)
        if self._intake.is_eviction_due(len(self._held)):
            self._evict_unneeded()
            self._forget_labels()

    def _evict_unneeded(self) -> None:
        """Drop what no event that is on time can meet any more."""
        for refs in self._held.evict(self._intake.watermark.state_us, self._reach_us).values():
            self._finder.forget(refs)
        self._installed.recode(self._held.templates, self._held.forget_templates())

    def _forget_labels(self) -> None:
        """Forget labels of events that are not held, once they are many."""
        labels = self._intake.labels
        if labels.is_log_long(len(self._held)) or self._labels.is_log_long(len(self._held)):
            least = self._held.least_ref(default=self._intake.rows)
            labels.forget_before(least)
            self._labels.forget_before(least)
        if labels.are_many:
            self._intake.forget_areas_and_sensors(*self._held.codes_held())
