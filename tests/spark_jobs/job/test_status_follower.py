"""Tombstones for the status of shards that a rebuilt job does not have; the producer is a list."""

from __future__ import annotations

from typing import Any

from spark_jobs.job.status_follower import retire_status
from spark_jobs.settings import FusionSettings


class Answered:
    """What `send` returns: acknowledged already."""

    def get(self, timeout: float) -> None: ...


class ListProducer:
    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.sent: list[tuple[str, bytes, bytes | None]] = []
        self.is_closed = False

    def connect(self, _bootstrap: str, **options: Any) -> ListProducer:
        self.options = options
        return self

    def send(self, topic: str, key: bytes, value: bytes | None) -> Answered:
        self.sent.append((topic, key, value))
        return Answered()

    def close(self, timeout: float) -> None:
        self.is_closed = True


def test_every_shard_that_is_not_there_is_retired() -> None:
    producer = ListProducer()
    retire_status(FusionSettings(shards=2, topic_prefix="x."), producer.connect)
    assert producer.sent == [("x.status", f"shard-{shard}".encode(), None) for shard in range(2, 256)]
    assert producer.is_closed
