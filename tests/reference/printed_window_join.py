"""The window join paper read as printed, or naively where it says nothing: each of these loses or doubles results."""

from __future__ import annotations

from itertools import permutations

from coincide import ConstraintGraph
from coincide.papers.window_join.backward import BackwardEvaluation
from coincide.papers.window_join.counted_work import Answer, Measured, Predicate
from coincide.papers.window_join.forward import ForwardEvaluation
from coincide.papers.window_join.window_replay import Arrivals, Point
from coincide.papers.window_join.windows import given_reach, local_reach, uniform_reach


def direct_by_joined_streams(
    arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None
) -> Measured:
    """Drop a tuple when it is older than the windows of the streams that it is joined with."""
    answer, reach = Answer(arrivals, graph, predicate, hashed=True), given_reach(graph)
    return BackwardEvaluation(answer, tested=reach, kept=reach, refined=False).run()


def gca_of_the_windows_given(
    arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None
) -> Measured:
    """Filter a path as a uniform clique of the largest window that it has."""
    answer = Answer(arrivals, graph, predicate, hashed=True)
    reach = dict.fromkeys(permutations(graph.roles, 2), max(given_reach(graph).values()))
    return BackwardEvaluation(answer, tested=reach, kept=reach, refined=True).run()


def bew_by_last_to_arrive(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Take the tuple that arrived last for the newest of its stream."""
    return _ByLastToArrive(*_clique(arrivals, graph, predicate), refined=False).run()


def bew_by_any_stream(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Drop a tuple when it is older than the window of the newest tuple of *some* other stream."""
    return _ByAnyStream(*_clique(arrivals, graph, predicate), refined=False).run()


def bew_of_all_that_waits(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Put all tuples that wait into the buffers, then iterate over each as a new one."""
    return _AllThatWaits(*_clique(arrivals, graph, predicate), refined=False).run()


def few_closed_by_any_stream(
    arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None
) -> Measured:
    """Stop mode 2 as soon as a tuple of one stream is newer than the period."""
    answer = Answer(arrivals, graph, predicate, hashed=False)
    return _ClosedByAnyStream(answer, uniform_reach(graph), refined=False).run()


def few_without_flush(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Wait at the end for tuples that never come."""
    answer = Answer(arrivals, graph, predicate, hashed=False)
    return _WithoutFlush(answer, uniform_reach(graph), refined=False).run()


def lca_few_drops_the_oldest(
    arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None
) -> Measured:
    """Shrink the period by every stream's largest window, and drop the oldest starting tuple at its end."""
    answer = Answer(arrivals, graph, predicate, hashed=True)
    return _DropsTheOldest(answer, local_reach(graph), refined=True).run()


def _clique(
    arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None
) -> tuple[Answer, dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    reach = dict(uniform_reach(graph))
    return Answer(arrivals, graph, predicate, hashed=False), reach, reach


class _ByLastToArrive(BackwardEvaluation):
    def _advance_horizon(self, new: Point) -> None:
        self._horizon_us[new.stream] = new.time_us


class _ByAnyStream(BackwardEvaluation):
    def _kept_from_us(self, stream: str) -> int:
        return max(
            horizon_us - self._kept[stream, other] for other, horizon_us in self._horizon_us.items() if other != stream
        )


class _AllThatWaits(BackwardEvaluation):
    def run(self) -> Measured:
        for new in self._answer.arrivals:
            self._buffers[new.stream].insert(new)
        for new in self._answer.arrivals:
            self._extend([new])
        return self._answer.measured()


class _ClosedByAnyStream(ForwardEvaluation):
    def _is_period_over(self) -> bool:
        return super()._is_period_over() or len(self._not_past) < len(self._queues)


class _WithoutFlush(ForwardEvaluation):
    def flush(self) -> None:
        pass


class _DropsTheOldest(ForwardEvaluation):
    def _is_period_found(self) -> bool:
        found = self._sweep.find(self._now_us)
        if found is not None:
            self._opener = min(found, key=lambda point: point.time_us).stream
            self._end_us = min(self._reaches_to_us(point) for point in found)
            self._not_past = list(self._queues)
        return found is not None
