"""HeavyProcess: does heavy work beside the line, at low priority, so that no detection waits for it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.connection import wait
from typing import TypeVar, TypeVarTuple

from services.common.http.problem import Problem, try_again

NICENESS = 10
MOST_WAITING = 8
BUDGET_S = 30.0

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class HeavyProcess:
    """Does one piece of work after the other; the process is started by the first, and anew when it has died.

    More than `most_waiting` pieces are refused, and one that takes longer than `budget_s` ends.
    """

    def __init__(self, most_waiting: int = MOST_WAITING, budget_s: float = BUDGET_S) -> None:
        self._most_waiting, self._budget_s = most_waiting, budget_s
        self._pool: ProcessPoolExecutor | None = None
        self._waiting = 0

    async def run(self, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Return the result; a `Problem`, 503, where there is none."""
        if self._waiting >= self._most_waiting:
            raise try_again(f"{self._waiting} others wait for the process that works this out")
        self._waiting += 1
        self._pool = self._pool or ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)
        try:
            return await asyncio.wrap_future(self._pool.submit(_within, self._budget_s, partial(function, *arguments)))
        except BrokenProcessPool as error:
            self._pool = None
            raise try_again("the process that works this out has ended") from error
        except TimeoutError as error:
            raise Problem(503, f"to work this out takes longer than {self._budget_s:g} s") from error
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the process, whatever it is at."""
        if self._pool is not None:
            for each in multiprocessing.active_children():  # a line has no other
                each.terminate()
            self._pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Give way to the line, let it alone hear of Ctrl-C, and do not outlive it."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, _give_up)
    threading.Thread(target=_end_with_the_line, daemon=True).start()


def _end_with_the_line() -> None:
    line = multiprocessing.parent_process()
    assert line is not None  # noqa: S101 - it runs in a child
    wait([line.sentinel])
    os._exit(1)


def _give_up(_signal: int, _frame: object) -> None:
    raise TimeoutError


def _within(budget_s: float, work: Callable[[], Result]) -> Result:
    signal.setitimer(signal.ITIMER_REAL, budget_s)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
