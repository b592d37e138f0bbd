"""The seam between HTTP and Kafka: what the endpoint asks of whoever publishes frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from services.ingest.frames import Frame


class PublisherBusyError(Exception):
    """Nothing was sent: Kafka is away, or too many bytes already wait for it. The message is for the caller."""


class Publisher(Protocol):
    """Publishes frames and dead letters."""

    @property
    def connected(self) -> bool:
        """Whether frames can be handed over now."""
        ...

    async def publish(self, frames: Sequence[Frame], received_at_us: int) -> list[bool]:
        """Send every frame and wait, for a bounded time, until each is settled.

        Returns
        -------
        list of bool
            For each frame whether all replicas have acknowledged it. One that was not may still arrive.

        Raises
        ------
        PublisherBusyError
            Nothing was sent.
        """
        ...

    def send_dead_letter(self, key: bytes, value: bytes) -> bool:
        """Hand over one dead letter without waiting; False when it had to be dropped. Never raises."""
        ...
