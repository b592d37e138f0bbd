"""Completions: from Kafka's thread to the event loop with one wake-up for a whole burst."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

Completion = Callable[[], None]


class Completions:
    """Runs callables on the event loop in the order they were put, from any thread.

    A wake-up writes to a pipe and costs more than the work itself, so a burst shares one.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Completion] = deque()
        self._woken = False

    def put(self, completion: Completion) -> None:
        """Have `completion` called soon; after the loop has closed it is forgotten."""
        self._waiting.append(completion)
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._run)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._waiting.clear()

    def _run(self) -> None:
        self._woken = False  # first: what is put from here on wakes the loop again
        while self._waiting:
            self._waiting.popleft()()
