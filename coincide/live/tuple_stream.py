"""WindowJoin: the streaming twin of `coincide.window_join`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy.typing as npt

from coincide.arrays.changes import Changes
from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.errors import GraphError
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES, checked_max_candidates
from coincide.live.answer_blocks import AnswerBlocks
from coincide.live.installed import WindowCondition
from coincide.live.live_join import LiveJoin
from coincide.offsets.pair_work import USUAL_LIMITS, PairLimits
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


class WindowJoin(LiveJoin[Tuples]):
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
    at_least : int or AtLeast, optional
        As in `window_join`: so many members are enough. The answer is then the sets of compatible events that cannot
        grow; what grows later is retracted.
    sensors : {"different", "same", "any"}
    keyed : bool
        Whether every batch comes with keys; only events with equal keys meet.
    max_buffered : int, optional
        Hard bound on the events kept of each stream, as in `TimingJoin`.
    pair_limits : PairLimits
    max_candidates : int
        With `at_least`: how many sets of three and more events, the last of them one row, the join may look at.

    Attributes
    ----------
    dropped : int
        Events that `max_buffered` dropped while they might still have found partners.

    Raises
    ------
    CoincideError
        Streams that are not the graph's, a threshold, rule or bound that cannot be used, an open window, `at_least`
        for a graph whose members it would not leave connected, or for more members than there are.

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

    def __init__(  # noqa: PLR0913 - what it asks, and its bounds by name
        self,
        graph: ConstraintGraph,
        streams: Iterable[Stream] | Mapping[str, Stream],
        threshold: float | None = None,
        at_least: int | AtLeast | None = None,
        sensors: SensorRule = "different",
        *,
        keyed: bool = False,
        max_buffered: int | None = None,
        pair_limits: PairLimits = USUAL_LIMITS,
        max_candidates: int = MOST_CANDIDATES,
    ) -> None:
        roles = streams_by_role(checked_graph(graph), streams)
        named = {role: stream.name for role, stream in roles.items()}
        limit = checked_max_candidates(max_candidates)
        super().__init__(
            {stream.name: stream for stream in roles.values()}.values(),
            WindowCondition(graph, named, threshold, at_least, checked_sensor_rule(sensors), limit),
            keyed=keyed,
            max_buffered=max_buffered,
            pair_limits=pair_limits,
            orders_ties=len(set(named.values())) < len(named),  # else no roles can be swapped
        )

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
        CandidateLimitError
            One row has more candidate sets than `max_candidates`. The batch has been taken in, but has no answer.
        """
        return self._pushed(stream, detections, key)

    def push_blocks(
        self, stream: str, detections: Detections, key: npt.ArrayLike | None = None
    ) -> AnswerBlocks[Changes[Tuples]]:
        """`push` in parts, for answers that need not fit in memory.

        The batch is taken in at once, and the first block says which rows came late. A block has about 64k candidates,
        or as many as one event makes. Until all are read, or the iterator is closed or dropped, the join refuses
        another push. With `at_least` the positions of all sets are known before the first block. One row with too many
        candidates raises CandidateLimitError after the blocks of the rows before it.

        Examples
        --------
        >>> from coincide.constraints.window import Window
        >>> from coincide.templates.histogram import Histogram
        >>> join = WindowJoin(ConstraintGraph.binary("a", "b", Window(9), 1.0), [Stream("a"), Stream("b")])
        >>> clock = [Histogram.point()]
        >>> changes = join.push("a", Detections(range(1000), clock))
        >>> [len(block.insert) for block in join.push_blocks("b", Detections(range(100), clock))]
        [66000, 34000]
        """
        return self._pushed_blocks(stream, detections, key)
