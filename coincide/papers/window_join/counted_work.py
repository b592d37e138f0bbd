"""What an algorithm of the window join paper finds, and the work that it counts on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.graph import ConstraintGraph
from coincide.errors import DetectionsError
from coincide.papers.window_join.window_replay import Arrivals, Point
from coincide.papers.window_join.windows import given_reach


@dataclass(frozen=True)
class WindowWork:
    """Elementary work in counts, and how long tuples waited in the time of the recording.

    Attributes
    ----------
    touched : int
        Tuples looked at in the buffers of other streams.
    windows_tested : int
        Times compared with a period or a window.
    predicates : int
        Keys compared, and calls of the predicate.
    buffered : int
        Largest number of tuples held at once, all streams together.
    waited_us : int
        Time from the arrival of a tuple until it was joined with those before it, or dropped; all tuples together.
    longest_wait_us : int

    Examples
    --------
    >>> WindowWork(touched=12, windows_tested=9, predicates=3).operations
    24
    """

    touched: int = 0
    windows_tested: int = 0
    predicates: int = 0
    buffered: int = 0
    waited_us: int = 0
    longest_wait_us: int = 0

    @property
    def operations(self) -> int:
        """All that takes time: tuples touched, windows tested, predicates evaluated."""
        return self.touched + self.windows_tested + self.predicates


@dataclass(frozen=True)
class Measured:
    """An answer and what it took.

    Attributes
    ----------
    members : ndarray of int64, shape (n, k)
        Rows of the members of each result, a column for each stream of the graph; sorted by them from left to right.
    work : WindowWork
    """

    members: Int64Array
    work: WindowWork


Predicate = Callable[[str, int, str, int], bool]
"""The paper's SIMILAR: (stream a, row, stream b, row) of two members that share the edge (a, b); must be pure."""


class Algorithm(Protocol):
    """What all algorithms of the paper look like: the same inputs, the same results."""

    def __call__(self, arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
        """Join the streams of the graph; a result has one tuple of each, with equal keys where there are keys."""


class Answer:
    """Results found so far, and counts of the work done for them.

    Parameters
    ----------
    arrivals : Arrivals
        Of the streams of the graph, in any order.
    graph : ConstraintGraph
    predicate : callable, optional
        Asked for each pair of members that share an edge.
    hashed : bool
        Whether buffers are hash tables: then the keys of what is found in a bucket need no comparison.

    Attributes
    ----------
    touched, windows_tested : int
        As in `WindowWork`; for the algorithm to count.

    Raises
    ------
    DetectionsError
        The streams that arrive are not those of the graph.
    """

    def __init__(
        self, arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None, *, hashed: bool
    ) -> None:
        if set(arrivals.streams) != set(graph.roles):
            raise DetectionsError("streams", arrivals.streams, f"those of the graph: {graph.roles}")
        self.arrivals, self.graph, self.hashed = arrivals, graph, hashed
        self.touched = self.windows_tested = 0
        self._predicates = self._buffered = self._waited_us = self._longest_wait_us = 0
        self._predicate, self._compares_keys = predicate, arrivals.has_keys and not hashed
        self._edges = [(edge.a, edge.b) for edge in graph.edges]
        self._windows = given_reach(graph)
        self._found: list[tuple[int, ...]] = []

    def agrees(self, members: Sequence[Point], candidate: Point) -> bool:
        """Compare the key of a candidate with that of the members chosen, then ask the predicate for each edge."""
        if self._compares_keys:
            self._predicates += 1
            if candidate.key != members[0].key:
                return False
        return self._predicate is None or all(self._are_similar(member, candidate) for member in members)

    def refine(self, members: Sequence[Point]) -> bool:
        """Test the window of each edge, as the conservative approaches do with what their filter leaves."""
        at_us = {member.stream: member.time_us for member in members}
        for a, b in self._edges:
            self.windows_tested += 1
            if not -self._windows[b, a] <= at_us[b] - at_us[a] <= self._windows[a, b]:
                return False
        return True

    def add(self, members: Sequence[Point]) -> None:
        """Add one tuple of each stream to the result."""
        rows = {member.stream: member.row for member in members}
        self._found.append(tuple(rows[stream] for stream in self.graph.roles))

    def hold(self, tuples: int) -> None:
        """Take note of how many tuples are held now."""
        self._buffered = max(self._buffered, tuples)

    def waited(self, point: Point, now_us: int) -> None:
        """Take note of how long a tuple waited."""
        self._waited_us += now_us - point.now_us
        self._longest_wait_us = max(self._longest_wait_us, now_us - point.now_us)

    def measured(self) -> Measured:
        """Return the results, sorted, and the counts."""
        members = np.array(sorted(self._found), dtype=np.int64).reshape(-1, len(self.graph.roles))
        work = WindowWork(
            self.touched,
            self.windows_tested,
            self._predicates,
            self._buffered,
            self._waited_us,
            self._longest_wait_us,
        )
        return Measured(members, work)

    def _are_similar(self, member: Point, candidate: Point) -> bool:
        if self._predicate is None:
            return True
        for a, b in ((member, candidate), (candidate, member)):
            if (a.stream, b.stream) in self._edges:
                self._predicates += 1
                return bool(self._predicate(a.stream, a.row, b.stream, b.row))
        return True


def visiting_order(graph: ConstraintGraph, first: str) -> list[str]:
    """Return the streams from `first` on, nearest in the graph first: each is tied to one before it.

    Examples
    --------
    >>> visiting_order(ConstraintGraph.path(["a", "b", "c", "d"], Window(1)), "b")
    ['b', 'a', 'c', 'd']
    """
    order = [first]
    for stream in order:  # grows while it is walked: breadth first
        order += [other for other in graph.neighbours(stream) if other not in order]
    return order
