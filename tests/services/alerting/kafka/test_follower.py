import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError
from sqlalchemy import Engine

from coincide.queries import Query
from services.alerting.kafka.follower import Follower, Listeners
from services.alerting.kafka.follower_progress import Progress
from services.alerting.kafka.kafka_session import KafkaSession
from services.alerting.kafka.projection import Seed
from services.alerting.kafka.query_publisher import QueryPublisher, encode
from services.alerting.kafka.records import QueryChange
from services.alerting.metrics import Metrics
from services.alerting.store import query_rows
from services.alerting.store.expiry import Expiry
from services.alerting.store.position_rows import Position
from services.alerting.store.sequence import StoredRow
from tests.services.alerting.records import TOPICS, Record, change_record, counted, match_record, query, reading

DEADLINE_S = 20.0


class Log:
    """Kafka as lists, one partition a topic."""

    def __init__(self) -> None:
        self.topics: dict[str, list[Record]] = {name: [] for name in TOPICS.names()}
        self.topic_id = "first"
        self.is_away = False
        self.sessions = 0

    def append(self, *records: Record) -> None:
        for each in records:
            self.topics[each.topic].append(each._replace(offset=len(self.topics[each.topic])))


class ListSession(KafkaSession):
    def __init__(self, log: Log) -> None:
        if log.is_away:
            raise ConnectionError("nothing listens")
        log.sessions += 1
        self._log = log
        self._next: dict[TopicPartition, int] = {}
        self.partitions = [TopicPartition(name, 0) for name in log.topics]
        self.topic_ids = dict.fromkeys(log.topics, log.topic_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def read_from(self, starts: Mapping[TopicPartition, int | None]) -> None:
        self._next = {partition: offset or 0 for partition, offset in starts.items()}

    def poll(self, timeout_s: float) -> list[Any]:
        read = [record for p, offset in self._next.items() for record in self._log.topics[p.topic][offset:]]
        for partition in self._next:
            self._next[partition] = len(self._log.topics[partition.topic])
        if not read:
            time.sleep(min(timeout_s, 0.005))
        return read

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        if self._log.is_away:
            raise KafkaTimeoutError("no answer")
        return {partition: len(self._log.topics[partition.topic]) for partition in partitions}

    def position(self, partition: TopicPartition) -> int:
        return self._next[partition]

    def commit(self, positions: Iterable[Position]) -> None:
        pass


class LogPublisher(QueryPublisher):
    def __init__(self, log: Log) -> None:
        super().__init__("nowhere:1", 1.0)
        self._log = log

    def publish(self, change: QueryChange) -> int:
        self._log.append(Record(TOPICS.queries, 0, 0, 1, change.id.encode(), encode(change)))
        return len(self._log.topics[TOPICS.queries]) - 1


class Following:
    def __init__(self, log: Log, engine: Engine, metrics: Metrics, seeded: Sequence[Query]) -> None:
        self.progress = Progress(silence_s=60.0)
        self.rows: list[StoredRow] = []
        expiry = Expiry(engine, metrics, (1e9, 1e9), 100, 60.0)
        seed = Seed(seeded, LogPublisher(log), engine)
        listeners = Listeners(self.rows.extend, self.progress.reached)
        self.thread = Follower(lambda: ListSession(log), engine, metrics, self.progress, expiry, listeners, seed)

    def until_ready(self) -> None:
        until(lambda: self.progress.not_ready_because() == [])


@contextmanager
def following(log: Log, engine: Engine, metrics: Metrics, seeded: Sequence[Query] = ()) -> Iterator[Following]:
    run = Following(log, engine, metrics, seeded)
    run.thread.start()
    try:
        yield run
    finally:
        run.thread.stop()
        assert not run.thread.is_alive()


def until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s, "waited in vain"
        threading.Event().wait(0.005)


def versions(engine: Engine) -> dict[str, int]:
    return {state.id: state.version for state in reading(engine, query_rows.read_queries)}


def test_what_comes_is_stored_and_told_once(engine: Engine, metrics: Metrics) -> None:
    log = Log()
    log.append(match_record("m-1"))
    with following(log, engine, metrics) as run:
        until(lambda: len(run.rows) == 1)
        log.append(match_record("m-1"), match_record("m-2"))
        until(lambda: len(run.rows) == 2)
    log.append(match_record("m-3"))
    with following(log, engine, metrics) as run:  # goes on from the positions in the database
        until(lambda: len(run.rows) == 1)
    assert counted(metrics, "records_consumed_total", topic=TOPICS.matches) == 4


def test_a_topic_made_anew_is_read_from_its_beginning(engine: Engine, metrics: Metrics) -> None:
    log = Log()
    log.append(*(match_record(f"m-{n}") for n in range(5)))
    with following(log, engine, metrics) as run:
        until(lambda: len(run.rows) == 5)
    log.topics[TOPICS.matches].clear()
    log.topic_id = "second"
    log.append(match_record("new-1"))
    with following(log, engine, metrics) as run:
        until(lambda: len(run.rows) == 1)


def test_the_queries_are_those_of_the_topic_and_not_of_the_database(engine: Engine, metrics: Metrics) -> None:
    log = Log()
    log.append(change_record("kept", 1), change_record("kept", 2), change_record("lost", 7))
    with following(log, engine, metrics) as run:
        run.until_ready()
        assert versions(engine) == {"kept": 2, "lost": 7}
    log.topics[TOPICS.queries].clear()
    log.append(change_record("kept", 1))
    with following(log, engine, metrics) as run:
        run.until_ready()
        assert versions(engine) == {"kept": 1}


def test_seeds_only_an_empty_topic_and_never_with_a_version_that_was(engine: Engine, metrics: Metrics) -> None:
    log = Log()
    seeded = [Query.from_json(query("intruder"))]
    with following(log, engine, metrics, seeded) as run:
        run.until_ready()
        assert versions(engine) == {"intruder": 1}
    log.append(change_record("intruder", 2, removed=True))
    with following(log, engine, metrics, seeded) as run:
        run.until_ready()
        assert versions(engine) == {}
    log.topics[TOPICS.queries].clear()
    with following(log, engine, metrics, seeded) as run:
        run.until_ready()
        assert versions(engine) == {"intruder": 3}


def test_whatever_fails_it_begins_again(engine: Engine, metrics: Metrics) -> None:
    log = Log()
    log.is_away = True
    with following(log, engine, metrics) as run:
        until(lambda: "nothing listens" in "".join(run.progress.not_ready_because()))
        log.is_away = False
        log.append(match_record("m-1"))
        until(lambda: len(run.rows) == 1)
        log.is_away = True
        until(lambda: counted(metrics, "kafka_up") == 0.0)
        log.is_away = False
        log.append(match_record("m-2"))
        until(lambda: len(run.rows) == 2)
    assert log.sessions >= 2


def test_a_database_that_cannot_be_written_loses_nothing(engine: Engine, metrics: Metrics) -> None:
    log = Log()
    with following(log, engine, metrics) as run:
        run.until_ready()
        with engine.connect() as other:
            other.exec_driver_sql("ROLLBACK")
            other.exec_driver_sql("ALTER TABLE matches RENAME TO hidden")
            log.append(match_record("m-1"))
            until(lambda: counted(metrics, "follower_failures_total") > 0)
            assert run.rows == []
            other.exec_driver_sql("ALTER TABLE hidden RENAME TO matches")
            other.exec_driver_sql("BEGIN")
        until(lambda: len(run.rows) == 1)
