"""Commits: how readers of a process hear that there is something new in the file."""

import threading
from collections.abc import Collection, Set


class Listener:
    """Waits for commits to some topics; those since `begin` count."""

    def __init__(self) -> None:
        self.topics: Collection[str] = ()
        self._heard = threading.Event()
        self._has_ended = False

    def begin(self) -> None:
        """Forget what was heard."""
        self._heard.clear()
        if self._has_ended:  # asked after the event is clear: who ends it sets both in the other order
            self._heard.set()

    def hear(self) -> None:
        """Wake who waits."""
        self._heard.set()

    def end(self) -> None:
        """Wake who waits, and let nobody wait again."""
        self._has_ended = True
        self._heard.set()

    def wait(self, wait_s: float) -> bool:
        """Return whether something was heard; waits for it up to `wait_s`, and not once this has ended."""
        return self._heard.wait(wait_s) and not self._has_ended


class Commits:
    """Tells listeners what was committed; whoever reads other topics sleeps on."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._lock = threading.Lock()

    def join(self, listener: Listener) -> None:
        """Tell a listener, too."""
        with self._lock:
            self._listeners += (listener,)

    def leave(self, listener: Listener) -> None:
        """Tell it nothing more."""
        with self._lock:
            self._listeners = tuple(each for each in self._listeners if each is not listener)

    def note(self, topics: Set[str] | None = None) -> None:
        """Tell who listens to these topics; None: all, for another process has committed something."""
        for each in self._listeners:
            if topics is None or not topics.isdisjoint(each.topics):
                each.hear()
