"""What every change of something registered comes to: a version that is given once, a record, and a wait for it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from services.common.http.problem import Problem
from services.ingest.kafka.publisher import KafkaPublisher

SHOWN_WITHIN_S, LOOK_EVERY_S = 5.0, 0.02
MOST_REMEMBERED = 10_000


@dataclass
class VersionedRecords:
    """Gives versions to the things of one topic, and writes their records.

    It remembers the versions that it gave, also to changes that Kafka did not acknowledge and to things removed since:
    none is given twice.
    """

    publisher: KafkaPublisher
    topic: str
    _given: dict[str, int] = field(default_factory=dict)

    def next_version(self, name: str, present: int) -> int:
        """Return the version of the next change of a thing that has version `present`; 0 if there is none."""
        version = max(present, self._given.pop(name, 0)) + 1
        self._given[name] = version
        if len(self._given) > MOST_REMEMBERED:
            del self._given[next(iter(self._given))]
        return version

    async def write(self, key: bytes, value: bytes | None, is_shown: Callable[[], bool]) -> None:
        """Write a record and return once `is_shown` says that ingest goes by it; a `Problem`, 503, if it does not."""
        if not await self.publisher.publish_record(self.topic, key, value):
            raise try_again("Kafka did not acknowledge the change; it may still take effect")
        for _ in range(round(SHOWN_WITHIN_S / LOOK_EVERY_S)):
            if is_shown():
                return
            await asyncio.sleep(LOOK_EVERY_S)
        raise try_again("the change was written, but not read back yet")


def try_again(detail: str) -> Problem:
    """Return the Problem, 503, of what may go well in a moment."""
    return Problem(503, detail, {"Retry-After": "1"})
