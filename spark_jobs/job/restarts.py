"""Keeps the query running: starts it again, with growing delays, whenever it ends by itself; whether it lives."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from services.common.backoff import Backoff
from spark_jobs.recovery.halt import Halt, halt_of

logger = logging.getLogger(__name__)

POLL_S = 0.2
PATIENCE = 10
HALTED = "halted: "  # so begins what /readyz says of a job that waits for a person
KAFKA_AWAY = "Kafka does not answer"
QUERY_ENDED = "the query ended and is started again: the log says why"  # for everybody: an error may name paths


class Liveliness:
    """Thread-safe record of the query's signs of life; after `stale_after_s` of silence it is not ready.

    Of a query that works in bulk the next sign may take `PATIENCE` times as long. Where it does not work and
    ``kafka_is_away``, that is why.
    """

    def __init__(
        self,
        stale_after_s: float,
        clock_s: Callable[[], float] = time.monotonic,
        kafka_is_away: Callable[[], bool] = lambda: False,
    ) -> None:
        self._stale_after_s = stale_after_s
        self._clock_s = clock_s
        self._kafka_is_away = kafka_is_away
        self._lock = threading.Lock()
        self._seen_s: float | None = None
        self._started_s: float | None = None
        self._works_in_bulk = False
        self._halt: Halt | None = None
        self._reason = "the query has not been started yet"

    def saw(self) -> None:
        """Take note that the query finished a batch, or looked for records and found none."""
        with self._lock:
            self._seen_s = self._clock_s()
            self._halt = None

    @property
    def shown_since_start(self) -> bool:
        """Whether there was a sign of life since the last start."""
        with self._lock:
            return self._seen_s is not None

    def why_not_ready(self) -> str | None:
        """Return None if the query is at work, else a sentence that says what is wrong."""
        with self._lock:
            if self._halt is not None:
                return f"{HALTED}{self._halt}"
        reason = self._why_not_at_work()
        return KAFKA_AWAY if reason and self._kafka_is_away() else reason

    def _why_not_at_work(self) -> str | None:
        with self._lock:
            if self._seen_s is None:
                return self._why_not_seen()
            silent_s = self._clock_s() - self._seen_s
            patience = PATIENCE if self._works_in_bulk else 1
        if silent_s > self._stale_after_s * patience:
            return f"the query has shown no sign of life for {silent_s:.0f} s"
        return None

    def started(self) -> None:
        """Take note that the query is started, so that its next sign of life is its first."""
        with self._lock:
            self._seen_s = None
            self._started_s = self._clock_s()
            self._works_in_bulk = False

    def in_bulk(self) -> None:
        """Take note that the batches are large until the next start."""
        with self._lock:
            self._works_in_bulk = True

    def away(self, reason: str) -> None:
        """Take note why the query is not ready before it is started again."""
        with self._lock:
            self._seen_s = self._started_s = None
            self._reason = reason

    def halted(self, halt: Halt) -> None:
        """Take note why the query cannot go on alone; that holds until its next sign of life."""
        with self._lock:
            self._seen_s = self._started_s = None
            self._halt = halt

    def released(self) -> None:
        """Take note that nothing keeps the query from going on any more."""
        with self._lock:
            self._halt = None

    @property
    def halt(self) -> Halt | None:
        """Why the query cannot go on alone, None where it can."""
        with self._lock:
            return self._halt

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


def keep_running(
    start: Callable[[], Q],
    liveliness: Liveliness,
    backoff: Backoff,
    stopping: threading.Event,
    fatal: tuple[type[Exception], ...] = (),
    on_restart: Callable[[], None] = lambda: None,
    is_released: Callable[[], bool] = lambda: False,
    is_ended: Callable[[Q], bool] = lambda _query: False,
) -> Q | None:
    """Start the query again whenever it ends, until ``stopping`` is set; return the one that runs then.

    One that ends without an error has done its part, and the next one starts at once. A sign of life starts the delays
    over. Errors of the types ``fatal`` are raised. After a `Halt` it waits the longest delay, for the cause may go
    away, or until ``is_released`` says that a person has done something about it. ``is_ended`` is asked now and
    then; it says whether it has ended the query for another to begin.
    """
    while not stopping.is_set():
        outcome = _run_once(start, liveliness, stopping, fatal, is_ended)
        if outcome is None:
            continue
        if not isinstance(outcome, Exception):
            return outcome
        if halt := halt_of(outcome):
            if str(halt) != str(liveliness.halt):  # it is looked at again every few seconds
                logger.error("%s%s%s", HALTED, halt, f" ({halt.detail})" if halt.detail else "")
            liveliness.halted(halt)
            _wait(stopping, backoff.longest_s, is_released)
            backoff.start_over()
            continue
        reason = _first_line(outcome)
        if liveliness.shown_since_start:
            backoff.start_over()
        delay_s = backoff.next_s()
        liveliness.away(QUERY_ENDED)
        logger.warning("the query ended (%s); it is started again in %g s", reason, delay_s)
        stopping.wait(delay_s)
        on_restart()
    return None


def _run_once(
    start: Callable[[], Q],
    liveliness: Liveliness,
    stopping: threading.Event,
    fatal: tuple[type[Exception], ...],
    is_ended: Callable[[Q], bool],
) -> Q | Exception | None:
    """Return the query that still runs when ``stopping`` is set, or why it ended; None if it was done, or was ended."""
    liveliness.started()
    try:
        query = start()
        while query.isActive:
            if stopping.wait(POLL_S):
                return query
            if is_ended(query):
                return None
        error = query.exception()
    except fatal:
        raise
    except Exception as failure:
        return failure
    if error is None and not liveliness.shown_since_start:
        return RuntimeError("it ended before its first batch")
    return error


def _wait(stopping: threading.Event, longest_s: float, is_released: Callable[[], bool]) -> None:
    waited_s = 0.0
    while not stopping.wait(POLL_S) and waited_s < longest_s and not is_released():
        waited_s += POLL_S


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or repr(error)
