"""The clock of the host, and whether somebody has set it back.

Java's Kafka clients count the delays between their connections by the time of day. After it was set back by an hour
they connect to a broker that was away only an hour later. Spark keeps its producers from one query to the next, and
counts an interval between batches by the time of day, too. So the job has to start again.
"""

import time
from collections.abc import Callable

from spark_jobs.job.session import SessionError

MOST_SET_BACK_S = 5.0
"""A client that waits no longer than this recovers soon enough by itself."""


class HostClock:
    """Compares the time of day with the time that nobody can set; ask it now and then, from the job's start on."""

    def __init__(
        self, of_day_s: Callable[[], float] = time.time, steady_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._of_day_s = of_day_s
        self._steady_s = steady_s
        self._furthest_s = of_day_s() - steady_s()

    def set_back(self) -> SessionError | None:
        """Return why the job has to start again; None while the time of day is about as far ahead as it ever was."""
        ahead_s = self._of_day_s() - self._steady_s()
        self._furthest_s = max(self._furthest_s, ahead_s)
        if (back_s := self._furthest_s - ahead_s) <= MOST_SET_BACK_S:
            return None
        return SessionError(
            f"the clock of the host was set back by {back_s:.0f} s, and Java's Kafka clients might not connect again "
            "for as long: start the job again"
        )
