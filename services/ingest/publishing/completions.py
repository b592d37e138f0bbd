"""Completions: what threads of a log tell, told on the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable

Completion = Callable[[], None]


class Completions:
    """Runs callables on the event loop in their order, from any thread; a burst shares one wake-up, which is dear."""

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
