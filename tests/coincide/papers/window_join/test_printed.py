"""Where the window join paper is wrong or silent: the naive reading loses or doubles results, ours does not."""

from itertools import permutations

import pytest

from coincide import ConstraintGraph, Window
from coincide.papers.counted_answer import PaperResult
from coincide.papers.recording import Event
from coincide.papers.window_join import variants
from coincide.papers.window_join.backward_evaluation import BackwardEvaluation
from coincide.papers.window_join.forward_evaluation import ForwardEvaluation
from coincide.papers.window_join.reaches import Reach, given_reach, local_reach, uniform_reach
from coincide.papers.window_join.variants import WindowJoinVariant
from tests.reference.window_join_points import arriving

PATH = ConstraintGraph.path("abc", Window(10e-6))
TRIANGLE = ConstraintGraph.clique("abc", Window(10e-6))
UNEVEN = ConstraintGraph.clique(
    "abc", {("a", "b"): Window(20e-6), ("b", "c"): Window(20e-6), ("a", "c"): Window(100e-6)}
)
PAIR = ConstraintGraph.clique("ab", Window(10e-6))


class ByLastToArrive(BackwardEvaluation):
    """Takes the last to arrive for the newest of its stream, which is out of order, and for the oldest to come."""

    def _advance_horizon(self, new: Event) -> None:
        self._horizon_us[new.stream] = new.latest_us


class ByAnyStream(BackwardEvaluation):
    """Drops what is too old for *some* stream's newest; it joins an older one there when a third stream is delayed."""

    def _kept_from_us(self, stream: str) -> int:
        others = (other for other in self._horizon_us if other != stream)
        return max(self._horizon_us[other] - self._plan.kept[stream, other] for other in others)


class AllThatWaits(BackwardEvaluation):
    """Puts all tuples that wait into the buffers, then iterates over each as if it were the last to arrive."""

    def run(self) -> PaperResult:
        for new in self.recording:
            self._buffers[new.stream].insert(new)
        for new in self.recording:
            self._extend([new])
        return self.result()


class ClosedByAnyStream(ForwardEvaluation):
    """Stops mode 2 as soon as a tuple of one stream is newer than the period; FEW waits for every stream."""

    def _is_period_over(self) -> bool:
        return super()._is_period_over() or len(self._not_past) < len(self._queues)


class WithoutFlush(ForwardEvaluation):
    """Is not told that the streams have ended, and waits for tuples that never come."""

    def flush(self) -> None:
        pass


class DropsTheOldest(ForwardEvaluation):
    """Drops the oldest starting tuple at the end of a period, not the one whose reach ends first."""

    def _opens_period(self) -> bool:
        starting = self._sweep.find(self._now_us)
        if starting is not None:
            self._opener = min(starting, key=lambda event: event.latest_us).stream
            self._end_us = min(self._reaches_to_us(event) for event in starting)
            self._not_past = list(self._queues)
        return starting is not None


def largest_window_given(graph: ConstraintGraph) -> Reach:
    """Filters a path as a clique of its largest window, although its ends may lie farther apart."""
    return dict.fromkeys(permutations(graph.roles, 2), max(given_reach(graph).values()))


# drops a tuple when it is older than the windows of the streams that it is joined with; it has to outlive them
BY_JOINED_STREAMS = WindowJoinVariant(BackwardEvaluation, given_reach, hashed=True)
LARGEST_WINDOW_GIVEN = WindowJoinVariant(BackwardEvaluation, largest_window_given, hashed=True, refined=True)
UNEVEN_ORDER = "a0 b5 c10 b15 c34 a90 b90 c90"  # of b, reaching to 25, the first goes; not a 0
DROPS_THE_OLDEST = WindowJoinVariant(DropsTheOldest, local_reach, hashed=True, refined=True)


def using(evaluation: type[BackwardEvaluation | ForwardEvaluation]) -> WindowJoinVariant:
    return WindowJoinVariant(evaluation, uniform_reach)


@pytest.mark.parametrize(
    ("naive", "right", "graph", "order", "as_printed", "lost"),
    [
        # c is delayed: a 5 is 15 older than b's newest, and yet joins
        (BY_JOINED_STREAMS, variants.bew_direct, PATH, "a5 b6 b20 c7", [], [[0, 0, 0]]),
        (LARGEST_WINDOW_GIVEN, variants.gca_bew, PATH, "a0 b9 c18", [], [[0, 0, 0]]),
        (using(ByLastToArrive), variants.bew_hash, PAIR, "a0 b30 b5", [], [[0, 1]]),
        (using(ByAnyStream), variants.bew_nested_loop, TRIANGLE, "b0 a5 a12 c6", [], [[0, 0, 0]]),
        (using(ClosedByAnyStream), variants.few_nested_loop, PAIR, "a0 b1 a11 b4", [[0, 0], [1, 0], [1, 1]], [[0, 1]]),
        (DROPS_THE_OLDEST, variants.lca_few, UNEVEN, UNEVEN_ORDER, [[0, 0, 0], [0, 1, 0], [1, 2, 2]], [[0, 1, 1]]),
        # b 12 is past a 0, whose period c keeps open
        (using(WithoutFlush), variants.few_hash, TRIANGLE, "a0 b1 c2 a5 b12", [[0, 0, 0], [1, 0, 0]], [[1, 1, 0]]),
    ],
)
def test_the_naive_reading_loses_results(
    naive: WindowJoinVariant,
    right: WindowJoinVariant,
    graph: ConstraintGraph,
    order: str,
    as_printed: list[list[int]],
    lost: list[list[int]],
) -> None:
    assert right(arriving(order), graph).members.tolist() == sorted(as_printed + lost)
    assert naive(arriving(order), graph).members.tolist() == as_printed


def test_tuples_that_wait_together_are_not_each_the_last_to_arrive() -> None:
    assert variants.bew_nested_loop(arriving("a0 b5"), PAIR).members.tolist() == [[0, 0]]
    assert using(AllThatWaits)(arriving("a0 b5"), PAIR).members.tolist() == [[0, 0], [0, 0]]
