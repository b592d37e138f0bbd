"""One producer: its connection, its partitioner, and what waits for Kafka's acknowledgement."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from kafka import KafkaProducer
from kafka.partitioner.default import DefaultPartitioner

from services.common.kafka.clients import close_producer

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


CLOSE_S = 5.0


class Connection:
    """A producer, the partitions of the detections topic, what was acknowledged, and dead letters that wait."""

    def __init__(self, producer: KafkaProducer, partitions: Iterable[int] = ()) -> None:
        self.producer = producer
        self.partitions = sorted(partitions)
        self.dead_letter_bytes = 0
        self.acknowledged = 0  # records

    def settle(self, dead_letter_bytes: int, _acknowledged: bool) -> None:
        """Count dead letters as settled, whichever way."""
        self.dead_letter_bytes -= dead_letter_bytes

    def close(self) -> None:
        """Send what is buffered and end; what cannot be sent in time is given up."""
        close_producer(self.producer, CLOSE_S)


class RememberingPartitioner(DefaultPartitioner):  # type: ignore[misc]  # it has no types
    """Kafka's default, worked out once for each key: keys are areas, few, and a topic keeps its partitions."""

    def __init__(self) -> None:
        self._partitions: dict[tuple[str, bytes], int] = {}

    def partition(
        self, topic: str, key: Any, serialized_key: bytes, value: Any, serialized_value: Any, cluster: Any
    ) -> int:
        """Return the partition of `serialized_key`."""
        known = self._partitions.get((topic, serialized_key))
        if known is None:
            known = super().partition(topic, key, serialized_key, value, serialized_value, cluster)
            self._partitions[topic, serialized_key] = known
        return known
