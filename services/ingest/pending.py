"""Pending: records handed to Kafka together, until each is settled."""

from __future__ import annotations

import asyncio


class Pending:
    """Records sent together: what became of each, and a future done when all are settled."""

    def __init__(self, records: int, loop: asyncio.AbstractEventLoop) -> None:
        self.acknowledged = [False] * records
        self.unsettled = records
        self.settled: asyncio.Future[None] = loop.create_future()

    def settle(self, index: int, acknowledged: bool) -> None:
        """Note what became of one record; on the event loop."""
        self.acknowledged[index] = acknowledged
        self.unsettled -= 1
        if not self.unsettled:
            self.give_up()

    def give_up(self) -> None:
        """Wait no longer."""
        if not self.settled.done():
            self.settled.set_result(None)
