"""An outbox over a database, its workers, and Kafka as a list."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from services.alerting.receivers.sending import Rest, Sending
from services.alerting.records.receiver import Receiver, Receivers
from services.common.clock import system_clock_us
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.faults import LogError
from services.common.log.records import Record
from services.common.topics.record_publisher import RecordPublisher
from tests.services.alerting.sample_records import NAMES, Database, episode_record, record, ruled


class ListedOutcomes(RecordPublisher):
    """Kafka as a list; what is written comes back into the database when the test reads it."""

    def __init__(self) -> None:
        super().__init__(KafkaLog(KafkaConnection(servers="nowhere:1")), 1.0, NAMES)
        self.records: list[Record] = []
        self.is_away = False

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        if self.is_away:
            raise LogError("not acknowledged")
        self.records.append(record(NAMES.full(topic), value, key=key))
        return len(self.records)


@dataclass
class Outbox:
    """Stores episodes, and has their alerts told."""

    database: Database
    sending: Sending
    kafka: ListedOutcomes
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fire(self, *ids: str, **fields: Any) -> None:
        """Store an episode for each id, and have its alert told."""
        with self.lock:
            said: dict[str, Any] = {"received_at_us": system_clock_us(), **fields}
            self.database.store([episode_record(id_, **{"revision": nth, **said}) for nth, id_ in enumerate(ids)])
        self.sending.wake()

    def read_back(self) -> None:
        """Store what Kafka was told, as the follower does."""
        with self.lock:
            self.database.store(self.kafka.records)


def outcomes(outbox: Outbox, receiver: str, state: str) -> int:
    return int(outbox.database.count("deliveries_total", receiver=receiver, outcome=state))


def rest_shortly(stopping: threading.Event, pause_s: float) -> None:
    """Rest a fiftieth of what is asked for."""
    stopping.wait(pause_s / 50)


@contextmanager
def running_outbox(
    database: Database,
    *receivers: Receiver,
    may_be_private: bool = True,
    deliver_within_s: float = 86_400.0,
    may_tell: Callable[[], bool] = lambda: True,
    rest: Rest = rest_shortly,
    **rule: Any,
) -> Iterator[Outbox]:
    """Run a worker for each receiver; the rule fires for every episode, and tells all, but for what `rule` says."""
    database.raising.receivers = database.receivers = Receivers(receivers)
    database.raising.now_us = system_clock_us
    kafka = ListedOutcomes()
    sending = Sending(
        database.receivers,
        database.engine,
        kafka,
        database.metrics,
        deliver_within_s=deliver_within_s,
        may_be_private=may_be_private,
        may_tell=may_tell,
        rest=rest,
    )
    database.store([ruled(**{"max_per_hour": 100_000, "title": "{start}", **rule})])
    sending.begin()
    try:
        yield Outbox(database, sending, kafka)
    finally:
        sending.stop()
