"""Keeps the query running: starts it again, with growing delays, whenever it ends by itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from spark_jobs.liveliness import Liveliness

logger = logging.getLogger(__name__)

POLL_S = 0.2


class Query(Protocol):
    """What is needed of a running streaming query."""

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        """Whether it runs."""

    def exception(self) -> Exception | None:
        """Why it ended, None if it runs or was stopped."""


Q = TypeVar("Q", bound=Query)


@dataclass(frozen=True)
class Backoff:
    """Delays between restarts: ``first_s``, then twice the one before, at most ``longest_s``."""

    first_s: float
    longest_s: float

    def after(self, delay_s: float) -> float:
        """Return the delay that follows ``delay_s``."""
        return min(2 * delay_s, self.longest_s)


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

    The delay starts over after the query has shown a sign of life. Exceptions of the types ``fatal`` are raised, and
    what ``raise_if_in_vain`` makes of the one that a query ended with.
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
        liveliness.ended(reason)
        logger.warning("the query ended (%s); it is started again in %g s", reason, delay_s)
        stopping.wait(delay_s)
        delay_s = backoff.after(delay_s)
        on_restart()
    return None


def _run_once(
    start: Callable[[], Q],
    liveliness: Liveliness,
    stopping: threading.Event,
    fatal: tuple[type[Exception], ...],
) -> Q | Exception:
    """Return the query that still runs when ``stopping`` is set, or why it ended."""
    liveliness.starting()
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
