"""Rounds: all contestants take turns, each is timed by a stopwatch, and their answers must agree."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import psutil


class Stopwatch:
    """Sums the seconds of its `with` blocks: CPU time of this process, or wall time.

    CPU time is what other work on the machine disturbs least. Wall time is fair where a peer has several threads.
    """

    def __init__(self, *, wall: bool = False) -> None:
        self.seconds = 0.0
        self._wall = wall
        self._others: tuple[psutil.Process, ...] = ()

    def including(self, *others: psutil.Process) -> Stopwatch:
        """Count the CPU time of other processes too: those of a server that works for this one."""
        self._others = others
        return self

    def __enter__(self) -> None:
        self._begun = self._now()

    def __exit__(self, *_: object) -> None:
        self.seconds += self._now() - self._begun

    def _now(self) -> float:
        if self._wall:
            return time.perf_counter()
        return time.process_time() + cpu_seconds(*self._others)


Work = Callable[[Stopwatch], Any]
"""Prepares what it needs, does what is measured within `with watch:`, and returns its answer."""


def timed(task: Callable[[], Any], answer: Callable[[Any], Any] = lambda _: None) -> Work:
    """Return work that is measured whole; `answer` makes its result comparable, outside the measured time."""

    def work(watch: Stopwatch) -> Any:
        with watch:
            result = task()
        return answer(result)

    return work


@dataclass(frozen=True)
class Measured:
    """Median seconds of one contestant, and the answer of its last round."""

    seconds: float
    answer: Any


def fastest(plans: Iterable[Work], *, wall: bool = False) -> Work:
    """Try every plan once and return the fastest; a single plan is not tried."""
    tried = list(plans)
    if len(tried) == 1:
        return tried[0]
    return min(tried, key=lambda plan: seconds(plan, wall=wall)[0])


def seconds(work: Work, *, wall: bool = False) -> tuple[float, Any]:
    """Return how long the work took, and its answer."""
    watch = Stopwatch(wall=wall)
    answer = work(watch)
    return watch.seconds, answer


def take_turns(contestants: Mapping[str, Work], rounds: int, *, wall: bool, agree: bool) -> dict[str, Measured]:
    """Let everybody work once in each round.

    Raises
    ------
    SystemExit
        `agree` is true and two answers differ.
    """
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    answers: dict[str, Any] = {}
    for _ in range(rounds):
        for name, work in contestants.items():
            elapsed, answer = seconds(work, wall=wall)
            taken[name].append(elapsed)
            if agree and answers and answer != (first := next(iter(answers.values()))):
                raise SystemExit(f"the answers differ: {name} says {answer}, {next(iter(answers))} says {first}")
            answers[name] = answer
    return {name: Measured(statistics.median(taken[name]), answers[name]) for name in contestants}


def cpu_seconds(*processes: psutil.Process) -> float:
    """Return the CPU seconds that these processes have used so far."""
    return float(sum(sum(process.cpu_times()[:2]) for process in processes))
