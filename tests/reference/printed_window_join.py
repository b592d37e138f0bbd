"""The window join paper read as printed, or naively where it says nothing: each of these loses or doubles results."""

from __future__ import annotations

from itertools import permutations

from coincide import ConstraintGraph
from coincide.papers.counted_answer import PaperResult
from coincide.papers.recording import Event
from coincide.papers.window_join.backward_evaluation import BackwardEvaluation
from coincide.papers.window_join.forward_evaluation import ForwardEvaluation
from coincide.papers.window_join.reaches import Reach, given_reach, local_reach, uniform_reach
from coincide.papers.window_join.variants import WindowJoinVariant


class _ByLastToArrive(BackwardEvaluation):
    """Takes the tuple that arrived last for the newest of its stream."""

    def _advance_horizon(self, new: Event) -> None:
        self._horizon_us[new.stream] = new.latest_us


class _ByAnyStream(BackwardEvaluation):
    """Drops a tuple when it is older than the window of the newest tuple of *some* other stream."""

    def _kept_from_us(self, stream: str) -> int:
        return max(
            horizon_us - self._plan.kept[stream, other]
            for other, horizon_us in self._horizon_us.items()
            if other != stream
        )


class _AllThatWaits(BackwardEvaluation):
    """Puts all tuples that wait into the buffers, then iterates over each as a new one."""

    def run(self) -> PaperResult:
        for new in self.recording:
            self._buffers[new.stream].insert(new)
        for new in self.recording:
            self._extend([new])
        return self.result()


class _ClosedByAnyStream(ForwardEvaluation):
    """Stops mode 2 as soon as a tuple of one stream is newer than the period."""

    def _is_period_over(self) -> bool:
        return super()._is_period_over() or len(self._not_past) < len(self._queues)


class _WithoutFlush(ForwardEvaluation):
    """Waits at the end for tuples that never come."""

    def flush(self) -> None:
        pass


class _DropsTheOldest(ForwardEvaluation):
    """Shrinks the period by every stream's largest window, and drops the oldest starting tuple at its end."""

    def _opens_period(self) -> bool:
        starting = self._sweep.find(self._now_us)
        if starting is not None:
            self._opener = min(starting, key=lambda event: event.latest_us).stream
            self._end_us = min(self._reaches_to_us(event) for event in starting)
            self._not_past = list(self._queues)
        return starting is not None


def _largest_window_given(graph: ConstraintGraph) -> Reach:
    return dict.fromkeys(permutations(graph.roles, 2), max(given_reach(graph).values()))


# drops a tuple when it is older than the windows of the streams that it is joined with
direct_by_joined_streams = WindowJoinVariant(BackwardEvaluation, given_reach, hashed=True)
# filters a path as a uniform clique of the largest window that it has
gca_of_the_windows_given = WindowJoinVariant(BackwardEvaluation, _largest_window_given, hashed=True, refined=True)
bew_by_last_to_arrive = WindowJoinVariant(_ByLastToArrive, uniform_reach)
bew_by_any_stream = WindowJoinVariant(_ByAnyStream, uniform_reach)
bew_of_all_that_waits = WindowJoinVariant(_AllThatWaits, uniform_reach)
few_closed_by_any_stream = WindowJoinVariant(_ClosedByAnyStream, uniform_reach)
few_without_flush = WindowJoinVariant(_WithoutFlush, uniform_reach)
lca_few_drops_the_oldest = WindowJoinVariant(_DropsTheOldest, local_reach, hashed=True, refined=True)
