"""Staff: who does the tasks of a run. This process begins; others are called where that takes long."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait as wait_for_end
from typing import Any, Protocol, TypeVar

from services.history.replaying.run_folder import CancelledError

ALONE_S = 2.0  # what takes longer is done by others: to start a process costs about a second, Spark some more
POLL_S = 0.2

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Progress = Callable[[float], None]
"""Is told which share of some tasks is done; what it raises ends them all."""


class Task(Protocol[T_co]):
    """A part of a run, which anybody can do who sees the archive; it travels as a pickle."""

    def answer(self, check: Callable[[], None]) -> T_co:
        """Return the answer; what `check` raises ends it."""
        ...


class Others(Protocol):
    """Who does many tasks at once."""

    def answers(self, tasks: Sequence[Task[T]], progress: Progress) -> Iterator[tuple[int, T]]:
        """Yield the position and the answer of each task, in any order."""
        ...


class Staff(ExitStack):
    """Does tasks alone at first, then lets others do the rest; `called` starts those, and None means there are none."""

    def __init__(self, called: Callable[[], AbstractContextManager[Others]] | None) -> None:
        super().__init__()
        self._called, self._begun_s = called, time.monotonic()
        self._others: Others | None = None

    def answers(self, tasks: Sequence[Task[T]], progress: Progress) -> Iterator[tuple[int, T]]:
        """Yield the position and the answer of each task, in any order."""
        done = 0
        while done < len(tasks) and (self._called is None or time.monotonic() - self._begun_s <= ALONE_S):
            check = partial(progress, done / len(tasks))
            check()
            yield done, tasks[done].answer(check)
            done += 1
        rest = tasks[done:]
        if rest:
            shares = partial(_told_of_rest, progress, done / len(tasks))
            for nth, answer in self._at_once().answers(rest, shares):
                yield done + nth, answer

    def _at_once(self) -> Others:
        assert self._called is not None  # noqa: S101 - else everything was done alone
        if self._others is None:
            self._others = self.enter_context(self._called())
        return self._others


def _told_of_rest(progress: Progress, done: float, share: float) -> None:
    progress(done + (1 - done) * share)


class Processes:
    """Processes of this machine, which end with the block."""

    def __init__(self, count: int) -> None:
        context = get_context("spawn")  # this process has threads
        self._ending = context.Event()
        self._pool = ProcessPoolExecutor(count, context, _begin, (self._ending,))

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._pool.shutdown(cancel_futures=True)

    def answers(self, tasks: Sequence[Task[T]], progress: Progress) -> Iterator[tuple[int, T]]:
        """Yield answers as processes give them."""
        waiting = {self._pool.submit(_answer, task): nth for nth, task in enumerate(tasks)}
        while waiting:
            done, _ = wait(waiting, POLL_S, "FIRST_COMPLETED")
            progress(1 - len(waiting) / len(tasks))
            yield from [(waiting.pop(each), each.result()) for each in done]


_of_process: dict[str, Any] = {}


def _begin(ending: Any) -> None:
    """Make a process of the pool ready: Ctrl-C is its parent's, and it ends when its parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _of_process.update(ending=ending)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait_for_end([parent.sentinel])
        os._exit(1)


def _answer(task: Task[T]) -> T:
    """Answer in a process of the pool."""
    return task.answer(_check)


def _check() -> None:
    if _of_process["ending"].is_set():
        raise CancelledError
