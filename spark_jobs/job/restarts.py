"""Keeps the query running: starts it again, with growing delays, whenever it ends by itself; whether it lives."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

logger = logging.getLogger(__name__)

POLL_S = 0.2


class Liveliness:
    """Thread-safe record of the query's signs of life; after `stale_after_s` of silence it is not ready."""

    def __init__(self, stale_after_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._stale_after_s = stale_after_s
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._seen_s: float | None = None
        self._started_s: float | None = None
        self._reason = "the query has not been started yet"

    def saw(self) -> None:
        """Take note that the query finished a batch, or looked for records and found none."""
        with self._lock:
            self._seen_s = self._clock_s()

    @property
    def shown_since_start(self) -> bool:
        """Whether there was a sign of life since the last start."""
        with self._lock:
            return self._seen_s is not None

    def why_not_ready(self) -> str | None:
        """Return None if the query is at work, else a sentence that says what is wrong."""
        with self._lock:
            if self._seen_s is None:
                return self._why_not_seen()
            silent_s = self._clock_s() - self._seen_s
        if silent_s > self._stale_after_s:
            return f"the query has shown no sign of life for {silent_s:.0f} s"
        return None

    def started(self) -> None:
        """Take note that the query is started, so that its next sign of life is its first."""
        with self._lock:
            self._seen_s = None
            self._started_s = self._clock_s()

    def away(self, reason: str) -> None:
        """Take note why the query is not ready before it is started again."""
        with self._lock:
            self._seen_s = self._started_s = None
            self._reason = reason

    def _why_not_seen(self) -> str:
        if self._started_s is None:
            return self._reason
        return (
            f"the query was started {self._clock_s() - self._started_s:.0f} s ago and has not finished its first batch"
        )


class RunningQuery(Protocol):
    """What is needed of a running streaming query."""

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        """Whether it runs."""

    def exception(self) -> Exception | None:
        """Why it ended, None if it runs or was stopped."""


Q = TypeVar("Q", bound=RunningQuery)


@dataclass(frozen=True)
class Backoff:
    """Delays between restarts: ``first_s``, then twice the one before, at most ``longest_s``."""

    first_s: float
    longest_s: float


def keep_running(
    start: Callable[[], Q],
    liveliness: Liveliness,
    backoff: Backoff,
    stopping: threading.Event,
    fatal: tuple[type[Exception], ...] = (),
    raise_if_in_vain: Callable[[Exception], None] = lambda _error: None,
    on_restart: Callable[[], None] = lambda: None,
) -> Q | None:
    """Start the query again whenever it ends, until ``stopping`` is set; return the one that runs then.

    A sign of life starts the delays over. Errors of the types ``fatal`` and of ``raise_if_in_vain`` are raised.
    """
    delay_s = backoff.first_s
    while not stopping.is_set():
        outcome = _run_once(start, liveliness, stopping, fatal)
        if not isinstance(outcome, Exception):
            return outcome
        raise_if_in_vain(outcome)
        reason = _first_line(outcome)
        if liveliness.shown_since_start:
            delay_s = backoff.first_s
        liveliness.away(reason)
        logger.warning("the query ended (%s); it is started again in %g s", reason, delay_s)
        stopping.wait(delay_s)
        delay_s = min(2 * delay_s, backoff.longest_s)
        on_restart()
    return None


def _run_once(
    start: Callable[[], Q], liveliness: Liveliness, stopping: threading.Event, fatal: tuple[type[Exception], ...]
) -> Q | Exception:
    """Return the query that still runs when ``stopping`` is set, or why it ended."""
    liveliness.started()
    try:
        query = start()
        while query.isActive:
            if stopping.wait(POLL_S):
                return query
        return query.exception() or RuntimeError("it was stopped")
    except fatal:
        raise
    except Exception as error:
        return error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or repr(error)
