"""Whether the query lives: what the listener saw of it last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Liveliness:
    """Thread-safe record of the query's signs of life.

    Parameters
    ----------
    stale_after_s
        A query silent for longer than this is not ready.
    clock_s
        Monotonic seconds.
    """

    def __init__(self, stale_after_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._stale_after_s = stale_after_s
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._seen_s: float | None = None
        self._reason = "the query has not been started yet"

    def saw(self) -> None:
        """Take note that the query finished a batch, or looked for records and found none."""
        with self._lock:
            self._seen_s = self._clock_s()

    def starting(self) -> None:
        """Take note that the query was started; it is ready with its first sign of life."""
        self._is_away("the query has not finished its first batch yet")

    def ended(self, reason: str) -> None:
        """Take note that the query ended, and why."""
        self._is_away(reason)

    @property
    def shown_since_start(self) -> bool:
        """Whether there was a sign of life since the last start."""
        with self._lock:
            return self._seen_s is not None

    def why_not_ready(self) -> str | None:
        """Return None if the query is at work, else a sentence that says what is wrong."""
        with self._lock:
            if self._seen_s is None:
                return self._reason
            silent_s = self._clock_s() - self._seen_s
        if silent_s > self._stale_after_s:
            return f"the query has shown no sign of life for {silent_s:.0f} s"
        return None

    def _is_away(self, reason: str) -> None:
        with self._lock:
            self._seen_s = None
            self._reason = reason
