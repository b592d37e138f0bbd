"""What both evaluations of the window join paper share: tuples at exact times, joined along the edges of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from coincide.constraints.graph import ConstraintGraph
from coincide.errors import DetectionsError
from coincide.papers.counted_answer import PaperAnswer, PaperResult
from coincide.papers.recording import Event, Recording
from coincide.papers.sorted_buffers import FAR_US, HashBuffer, SortedBuffer
from coincide.papers.window_join.reaches import Reach, given_reach

Predicate = Callable[[str, int, str, int], bool]
"""The paper's SIMILAR: (stream a, row, stream b, row) of two members that share the edge (a, b); must be pure."""


@dataclass(frozen=True)
class EvaluationPlan:
    """Which windows an evaluation uses, and which kind of buffer."""

    tested: Reach  # what periods are made of; pairs that it does not name are not compared
    kept: Reach  # how long a tuple is kept for each other stream
    hashed: bool  # hash tables as buffers: the keys of two tuples of a bucket need no comparison
    refined: bool  # complete results still have to pass the windows of the graph


class JoinEvaluation(PaperAnswer):
    """The state of a window join, and the steps that do not depend on when a tuple is joined.

    The recording has the streams of the graph, in any order, at exact times; anything else is a DetectionsError.
    """

    def __init__(
        self, recording: Recording, graph: ConstraintGraph, predicate: Predicate | None, plan: EvaluationPlan
    ) -> None:
        _check(recording, graph)
        super().__init__(recording, graph.roles)
        self._plan, self._predicate = plan, predicate
        self._compares_keys = recording.has_keys and not plan.hashed
        self._edges = [(edge.a, edge.b) for edge in graph.edges]
        self._windows = given_reach(graph)
        self._orders = {stream: visiting_order(graph, stream) for stream in graph.roles}

    def run(self) -> PaperResult:
        """Join everything that arrives."""
        for new in self.recording:
            self.push(new)
        self.flush()
        return self.result()

    def push(self, new: Event) -> None:
        """Take a tuple that arrives."""
        raise NotImplementedError

    def flush(self) -> None:
        """Join what still waits when the streams have ended."""

    def _candidates(self, members: list[Event], stream: str) -> Iterator[Event]:
        """Yield the tuples of a stream that may join the members chosen."""
        raise NotImplementedError

    def _buffer(self) -> SortedBuffer:
        return HashBuffer() if self._plan.hashed else SortedBuffer()

    def _extend(self, members: list[Event]) -> None:
        """Look for the next member, recursively; without any left to look for, report."""
        order = self._orders[members[0].stream]
        if len(members) < len(order):
            for candidate in self._candidates(members, order[len(members)]):
                if self._agrees(members, candidate):
                    self._extend([*members, candidate])
        elif not self._plan.refined or self._passes_windows(members):
            self.add(*members)

    def _agrees(self, members: Sequence[Event], candidate: Event) -> bool:
        """Compare the key of a candidate with that of the members chosen, then call the predicate for each edge."""
        if self._compares_keys:
            self.work.predicates += 1
            if candidate.key != members[0].key:
                return False
        return self._predicate is None or all(self._are_similar(member, candidate) for member in members)

    def _are_similar(self, member: Event, candidate: Event) -> bool:
        for a, b in ((member, candidate), (candidate, member)):
            if self._predicate is not None and (a.stream, b.stream) in self._edges:
                self.work.predicates += 1
                return bool(self._predicate(a.stream, a.row, b.stream, b.row))
        return True

    def _passes_windows(self, members: Sequence[Event]) -> bool:
        """Test the window of each edge, as the conservative approaches do with what their filter leaves."""
        at_us = {member.stream: member.latest_us for member in members}
        for a, b in self._edges:
            self.work.windows_tested += 1
            if not -self._windows[b, a] <= at_us[b] - at_us[a] <= self._windows[a, b]:
                return False
        return True


def _check(recording: Recording, graph: ConstraintGraph) -> None:
    streams = tuple(recording.streams)
    if set(streams) != set(graph.roles):
        raise DetectionsError("streams", streams, f"those of the graph: {graph.roles}")
    for stream, rows in recording.streams.items():
        for template in rows.templates:
            if template.length_s > 0 or template.earliest_us != template.latest_us:
                allowed = "one atom at a whole microsecond: the window join paper's algorithms assume exact times"
                raise DetectionsError("templates", f"{template!r} in stream {stream!r}", allowed)


def visiting_order(graph: ConstraintGraph, first: str) -> list[str]:
    """Return the streams from `first` on, nearest in the graph first: each is tied to one before it."""
    order = [first]
    for stream in order:  # grows while it is walked: breadth first
        order += [other for other in graph.neighbours(stream) if other not in order]
    return order


def period(members: Sequence[Event], stream: str, reach: Reach) -> tuple[int, int]:
    """Return the first and the last time of a member of `stream` that is within reach of the members chosen."""
    start_us, end_us = -FAR_US, FAR_US
    for member in members:
        if (member.stream, stream) in reach:
            start_us = max(start_us, member.latest_us - reach[stream, member.stream])
            end_us = min(end_us, member.latest_us + reach[member.stream, stream])
    return start_us, end_us
