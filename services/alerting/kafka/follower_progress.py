"""How far the follower is: written by its thread, read by the endpoints."""

import asyncio
import time


class Progress:
    """Whether Kafka answers, and how far the queries topic was read into the database."""

    def __init__(self, silence_s: float) -> None:
        self._silence_s = silence_s
        self._heard_at_s: float | None = None
        self._fault = "not connected yet"
        self._queries_offset = 0
        self._caught_up = False
        self._waiting: set[tuple[int, asyncio.Future[None]]] = set()

    def heard(self) -> None:
        """Note that Kafka answered."""
        self._heard_at_s = time.monotonic()

    def failed(self, fault: str) -> None:
        """Note why Kafka or the database cannot be used, in one sentence."""
        self._fault = fault

    def caught_up(self) -> None:
        """Note that the database has every query that the topic had when alerting started."""
        self._caught_up = True

    def not_ready_because(self) -> list[str]:
        """Return why changes cannot be taken now; empty when they can."""
        if self._heard_at_s is None or time.monotonic() - self._heard_at_s > self._silence_s:
            return [f"Kafka cannot be used: {self._fault}"]
        return [] if self._caught_up else ["the queries are still being read from Kafka"]

    def reached(self, queries_offset: int) -> None:
        """Wake everybody who waits for an offset below `queries_offset`, the next to be read; on the event loop."""
        self._queries_offset = queries_offset
        for offset, future in self._waiting:
            if offset < queries_offset and not future.done():
                future.set_result(None)

    async def wait_until_held(self, offset: int, timeout_s: float) -> None:
        """Return once the projection holds the record at `offset`; a `TimeoutError` after `timeout_s`."""
        if offset < self._queries_offset:
            return
        waiter = (offset, asyncio.get_running_loop().create_future())
        self._waiting.add(waiter)
        try:
            async with asyncio.timeout(timeout_s):
                await waiter[1]
        finally:
            self._waiting.discard(waiter)
