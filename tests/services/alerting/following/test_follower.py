import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple
from unittest.mock import Mock

import pytest
from kafka.errors import KafkaTimeoutError
from sqlalchemy.exc import OperationalError

from coincide.queries import Query
from services.alerting.alerts.system_conditions import SystemConditions
from services.alerting.following.followed_topics import Position, read_positions
from services.alerting.following.follower import Follower, Pace, sentence_of
from services.alerting.following.handing_over import HandingOver, Listeners
from services.alerting.following.projection import Progress, Seed, no_answer
from services.alerting.following.standby import Standby
from services.alerting.leadership import lease as lease_module
from services.alerting.leadership.lease import Lease
from services.alerting.store import query_rows
from services.alerting.store.expiry import Expiry
from services.alerting.store.live_rows import StoredRow, newest_sequence
from services.alerting.store.match_rows import MatchFilter, read_newest_first
from services.common.access.audit import AuditTrail
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.kafka.log_faults import fault_of, no_topic
from services.common.log.faults import DamagedLogError, LogError, OffsetGoneError
from services.common.log.reader import LogReader
from services.common.log.records import Record, TopicPartition
from services.common.topics.record_publisher import RecordPublisher
from tests.patience import until
from tests.services.alerting.sample_records import (
    NAMES,
    ROOM,
    TOPICS,
    Database,
    change_record,
    dead_letter_record,
    match_record,
    query,
    record,
)
from tests.services.kept_records import KeptRecords

NO_ANSWER = no_answer("Kafka")


class Log:
    """Kafka as lists, one partition a topic."""

    def __init__(self) -> None:
        self.topics: dict[str, list[Record]] = {name: [] for name in (*TOPICS.names(), NAMES.full("detections"))}
        self.begins = dict.fromkeys(self.topics, 0)
        self.topic_id = "first"
        self.is_away = self.is_damaged = False
        self.committed: dict[str, int] = {}  # by topic, as Kafka keeps it for the group
        self.sessions = 0

    def append(self, *records: Record) -> None:
        for each in records:
            self.topics[each.topic].append(each._replace(offset=len(self.topics[each.topic])))

    def delete_before(self, topic: str, offset: int) -> None:
        self.begins[topic] = offset


class ListReader(LogReader):
    def __init__(self, log: Log) -> None:
        if log.is_away:
            raise ConnectionError("nothing listens")
        super().__init__()
        log.sessions += 1
        self._log = log
        self._next: dict[TopicPartition, int] = {}

    def close(self) -> None: ...

    def has(self, topic: str) -> bool:
        return topic in self._log.topics

    def partitions_of(self, *topics: str) -> list[TopicPartition]:
        return [TopicPartition(name, 0) for name in topics]

    def topics_read(self) -> set[str]:
        return {each.topic for each in self._next}

    def read_from(self, starts: Mapping[TopicPartition, int | None]) -> None:
        self._next = {each: self._log.begins[each.topic] if start is None else start for each, start in starts.items()}

    def topic_id(self, topic: str) -> Any:
        return self._log.topic_id

    def beginnings(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: self._log.begins[each.topic] for each in partitions}

    def was_shown(self, partitions: Iterable[TopicPartition]) -> bool:
        return bool(self._log.committed)

    def poll(self, wait_s: float = 0.0) -> list[Any]:
        if self._log.is_damaged:
            raise DamagedLogError("record 3 of matches is damaged: move it away, and restore a backup")
        for each, offset in self._next.items():
            if offset < (begin := self._log.begins[each.topic]):
                raise OffsetGoneError(each, offset, begin, len(self._log.topics[each.topic]))
        starts = {each.topic: offset for each, offset in self._next.items()}
        read = [record for topic, offset in starts.items() for record in self._log.topics[topic][offset:]]
        for partition in self._next:
            self._next[partition] = len(self._log.topics[partition.topic])
        if not read:
            time.sleep(min(wait_s, 0.005))
        return read

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        if self._log.is_away:
            raise LogError("no answer", is_retriable=True)
        return {partition: len(self._log.topics[partition.topic]) for partition in partitions}

    def written_since(self, partitions: Iterable[TopicPartition], at_ms: int) -> dict[TopicPartition, int]:
        offsets = {p: [r.offset for r in self._log.topics[p.topic] if r.timestamp >= at_ms] for p in partitions}
        return {partition: some[0] for partition, some in offsets.items() if some}

    def position(self, partition: TopicPartition) -> int:
        return self._next[partition]

    def show(self, positions: Mapping[TopicPartition, int]) -> None:
        self._log.committed.update({each.topic: offset for each, offset in positions.items()})


class LogPublisher(RecordPublisher):
    def __init__(self, log: Log) -> None:
        super().__init__(KafkaLog(KafkaConnection(servers="nowhere:1")), 1.0, NAMES)
        self._lists = log

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        self._lists.append(Record(NAMES.full(topic), 0, 0, 1, key, value))
        return len(self._lists.topics[NAMES.full(topic)]) - 1


class Run(NamedTuple):
    """A follower that runs: what it says, and the rows that live readers would hear of."""

    progress: Progress
    rows: list[StoredRow]


Follow = Callable[..., AbstractContextManager[Run]]


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def trail() -> KeptRecords:
    return KeptRecords()


@pytest.fixture
def follow(log: Log, trail: KeptRecords, database: Database, monkeypatch: pytest.MonkeyPatch) -> Follow:
    monkeypatch.setattr(lease_module, "LOOKED_AT_EVERY_S", 0.05)

    @contextmanager
    def follow(*seeded: Query, database: Database = database, writes_at_once: bool = False) -> Iterator[Run]:
        engine, metrics = database.engine, database.metrics
        run = Run(Progress(silence_s=60.0), [])
        lease = Lease(engine)
        lease.start()
        if writes_at_once:
            until(lambda: lease.term is not None)
        expiry = Expiry(lease.writer, metrics, (1e9, 1e9), ROOM, 100, 60.0)
        seed = Seed(seeded, LogPublisher(log), AuditTrail("alerting", trail), engine)
        listeners = Listeners(run.rows.extend, run.progress.reached)
        handing_over = HandingOver(engine, listeners, database.read(newest_sequence))
        standby = Standby(
            engine, handing_over, database.receivers, run.progress, metrics, lambda: not log.is_away, NAMES, "Kafka"
        )
        storage = database.storage
        storage.engine = lease.writer
        thread = Follower(
            lambda: ListReader(log), lease, metrics, run.progress, expiry, standby, seed, storage, log_name="Kafka"
        )
        thread.start()
        try:
            yield run
        finally:
            thread.stop()
            lease.stop()
            assert not thread.is_alive()

    return follow


def versions(follow: Follow, database: Database, *seeded: Query) -> dict[str, int]:
    """The queries, and their versions, in the database once a follower has caught up with them."""
    with follow(*seeded, writes_at_once=True) as run:  # one that stands by first says that it has caught up
        until(lambda: run.progress.not_ready_because() == [])
        return {state.id: state.version for state in database.read(query_rows.read_queries)}


def test_what_comes_is_stored_and_told_once(log: Log, follow: Follow, database: Database) -> None:
    log.append(match_record("m-1"))
    with follow() as run:
        until(lambda: len(run.rows) == 1)
        log.append(match_record("m-1"), match_record("m-2"))
        until(lambda: len(run.rows) == 2)
    log.append(match_record("m-3"))
    with follow() as run:  # goes on from the positions in the database
        until(lambda: len(run.rows) == 1)
    assert database.count("records_consumed_total", topic=TOPICS.matches) == 4


def test_kafka_is_shown_how_far_it_was_read_and_no_farther_than_is_stored(
    log: Log, follow: Follow, database: Database
) -> None:
    log.append(match_record("m-1"), match_record("m-2"), dead_letter_record("d-1"))
    with follow() as run:
        until(lambda: log.committed.get(TOPICS.matches) == 2 and log.committed.get(TOPICS.dead_letters) == 1)
        assert (len(run.rows), database.rows("matches")) == (2, 2)
        log.append(match_record("m-3"))
        until(lambda: log.committed[TOPICS.matches] == 3)
        with database.engine.connect() as connection:
            stored = {each.topic: each.next_offset for each in read_positions(connection)}
        assert log.committed == {topic: stored[topic] for topic in log.committed}


def test_who_stands_by_hands_over_what_another_stores_and_then_stores_itself(
    log: Log, follow: Follow, database: Database
) -> None:
    with ExitStack() as first_runs:
        first = first_runs.enter_context(follow())
        until(lambda: first.progress.not_ready_because() == [])
        with follow(database=Database(database.engine)) as second:
            log.append(match_record("m-1"), match_record("m-2"))
            until(lambda: len(second.rows) == 2)
            until(lambda: second.progress.not_ready_because() == [])
            assert [each.sequence for each in second.rows] == [each.sequence for each in first.rows]
            first_runs.close()
            log.append(match_record("m-3"))
            until(lambda: len(second.rows) == 3)
    assert len(first.rows) == 2


def test_who_goes_on_when_another_has_taken_over_stores_nothing(
    log: Log, follow: Follow, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with follow() as run:
        log.append(match_record("m-1"))
        until(lambda: len(run.rows) == 1)
        other = Lease(database.engine, lock=FreeLock())  # what a server does that has given up this process
        other.look()
        until(lambda: "nothing more is written" in caplog.text)
        log.append(match_record("m-2"))
        sessions = log.sessions
        until(lambda: log.sessions > sessions + 1)
        assert [json.loads(row.body)["id"] for row in database.read(read_newest_first, MatchFilter(), None, 9)] == [
            "m-1"
        ]
    assert len(run.rows) == 1


class FreeLock:
    held_for_s: ClassVar[float] = math.inf

    def is_mine(self) -> bool:
        return True

    def release(self) -> None:
        pass


def test_a_topic_made_anew_is_read_from_its_beginning(log: Log, follow: Follow) -> None:
    log.append(*(match_record(f"m-{n}") for n in range(5)))
    with follow() as run:
        until(lambda: len(run.rows) == 5)
    log.topics[TOPICS.matches].clear()
    log.topic_id = "second"
    log.append(match_record("new-1"))
    with follow() as run:
        until(lambda: len(run.rows) == 1)
        log.topics[TOPICS.matches].clear()  # and also while it is followed
        log.append(match_record("newer-1"))
        log.topic_id = "third"
        until(lambda: len(run.rows) == 2)


@pytest.mark.parametrize("left", [0, 2])
def test_what_kafka_deletes_before_it_is_stored_is_counted(
    log: Log, follow: Follow, database: Database, left: int
) -> None:
    def expired(topic: str) -> float:
        return database.count("records_expired_total", topic=topic)

    log.append(*(match_record(f"m-{n}") for n in range(5)))
    log.delete_before(TOPICS.matches, 2)  # nobody has missed them: the database is new
    with follow() as run:
        until(lambda: len(run.rows) == 3)
        assert expired(TOPICS.matches) == 0
    log.append(*(match_record(f"m-{n}") for n in range(5, 9 + left)))
    log.delete_before(TOPICS.matches, 9)
    with follow() as run:
        until(lambda: expired(TOPICS.matches) == 4)
        until(lambda: len(run.rows) == left)
    assert expired(TOPICS.matches) == 4
    assert expired(TOPICS.episodes) == expired(TOPICS.dead_letters) == 0


def test_the_queries_are_those_of_the_topic_alone(log: Log, follow: Follow, database: Database) -> None:
    log.append(change_record("kept", 1), change_record("kept", 2), change_record("lost", 7))
    assert versions(follow, database) == {"kept": 2, "lost": 7}
    log.topics[TOPICS.queries].clear()
    log.append(change_record("kept", 1))
    assert versions(follow, database) == {"kept": 1}


def test_seeds_an_empty_topic_alone_and_never_a_version_that_was(
    log: Log, trail: KeptRecords, follow: Follow, database: Database
) -> None:
    seeded = Query.from_json(query("intruder"))
    assert versions(follow, database, seeded) == {"intruder": 1}
    log.append(change_record("intruder", 2, removed=True))
    assert versions(follow, database, seeded) == {}
    log.topics[TOPICS.queries].clear()
    assert versions(follow, database, seeded) == {"intruder": 3}
    told = [(each["action"], each["before"], each["after"]["version"], each["name"]) for each in trail.changes]
    assert told == [("query.created", None, version, "nobody") for version in (1, 3)]
    assert trail.changes[0]["after"]["within"] == seeded.to_json()["within"]


def test_detections_that_come_while_no_batch_ends_are_a_stalled_line(
    log: Log, follow: Follow, database: Database
) -> None:
    def is_stalled_a_minute_later() -> bool:
        log.append(record(NAMES.full("detections"), None))
        database.now_us += 61_000_000
        return [alert["source"] for alert in database.alerts()] == ["line_stalled"]

    with follow():
        until(is_stalled_a_minute_later)
    assert database.count("records_consumed_total", topic=NAMES.full("detections")) == 0.0


def test_a_restart_in_the_midst_of_a_flood_of_dead_letters_neither_ends_nor_repeats_it(
    log: Log, follow: Follow, database: Database
) -> None:
    def letters(since_s: float, count: int) -> list[Record]:
        return [dead_letter_record(f"d-{since_s}-{n}", round((time.time() - since_s) * 1e3)) for n in range(count)]

    def restart(clock_s: Callable[[], float] = time.time) -> SystemConditions:
        database.storage.conditions = SystemConditions(clock_s=clock_s)
        return database.storage.conditions

    log.append(*letters(120, 500), *letters(20, 601))
    restart()
    with follow():
        until(lambda: [each["source"] for each in database.alerts()] == ["dead_letter_flood"])
    [alert] = database.alerts()
    looks: list[float] = []

    def look() -> float:
        looks.append(time.time())
        return looks[-1]

    conditions = restart(look)
    with follow():
        until(lambda: conditions._has_read_letters)
        seen = len(looks)
        until(lambda: len(looks) > seen + 10)  # and it has judged again
    assert database.history(alert["id"]) == ["firing"]
    restart(lambda: time.time() + 61)
    with follow():
        until(lambda: database.history(alert["id"]) == ["firing", "resolved"])


def test_whatever_fails_it_begins_again(log: Log, follow: Follow, database: Database) -> None:
    log.is_away = True
    with follow() as run:
        until(lambda: run.progress.not_ready_because() == [NO_ANSWER])
        log.is_away = False
        log.append(match_record("m-1"))
        until(lambda: len(run.rows) == 1)
        until(lambda: database.knows("lag_records", topic=TOPICS.matches))
        log.is_away = True
        until(lambda: database.count("kafka_up") == 0.0)
        until(lambda: not database.knows("lag_records", topic=TOPICS.matches))  # no value is frozen
        log.is_away = False
        log.append(match_record("m-2"))
        until(lambda: len(run.rows) == 2)
    assert log.sessions >= 2


def test_a_damaged_log_is_no_healthy_one_though_it_answers(log: Log, follow: Follow, database: Database) -> None:
    log.is_damaged = True
    with follow() as run:
        until(lambda: database.count("follower_failures_total") >= 3)
        sentence = "Kafka cannot be used: record 3 of matches is damaged: move it away, and restore a backup"
        assert run.progress.not_ready_because() == [sentence]
        log.is_damaged = False
        until(lambda: run.progress.not_ready_because() == [])


def test_an_unwritable_database_loses_nothing(log: Log, follow: Follow, database: Database) -> None:
    with follow() as run:
        until(lambda: run.progress.not_ready_because() == [])
        with database.engine.begin() as other:
            other.exec_driver_sql("ALTER TABLE matches RENAME TO hidden")
        log.append(match_record("m-1"))
        until(lambda: database.count("follower_failures_total") > 0)
        assert run.rows == []
        with database.engine.begin() as other:
            other.exec_driver_sql("ALTER TABLE hidden RENAME TO matches")
        until(lambda: len(run.rows) == 1)


@pytest.mark.parametrize(("was_read", "is_empty"), [(True, True), (True, False), (False, True)])
def test_an_empty_database_beside_a_kafka_that_was_read_is_a_lost_one(
    log: Log, follow: Follow, database: Database, was_read: bool, is_empty: bool
) -> None:
    if was_read:
        log.committed[TOPICS.matches] = 1
    if not is_empty:
        database.store([], [Position(TOPICS.matches, 0, log.topic_id, 0)])
    began_s = time.time()
    with follow() as run:
        until(lambda: run.progress.not_ready_because() == [])
    assert (database.count("database_lost_timestamp_seconds") >= began_s) == (was_read and is_empty)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OperationalError("INSERT INTO m VALUES (?)", ("x",), Exception("database is locked")),
            "the database is locked",
        ),
        (OperationalError("SELECT 1", (), Exception("no host db.inside:5432")), "the database cannot be used"),
        (fault_of(KafkaTimeoutError("no answer of kafka.inside:9092")), NO_ANSWER),
        (ConnectionError("kafka.inside:9092 refused"), NO_ANSWER),
        (no_topic("coincide.x", NAMES), "Kafka cannot be used: there is no topic coincide.x: "),
        (ZeroDivisionError("at /srv/x.py"), "Kafka cannot be followed"),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_of_our_insides(error: Exception, sentence: str) -> None:
    said = sentence_of(error, "Kafka")
    assert said.startswith(sentence)
    assert not any(word in said for word in ("INSERT", "SELECT", "inside", "/srv", "sqlalche"))


def test_a_locked_database_is_not_kafkas_fault(
    log: Log, follow: Follow, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = OperationalError("INSERT INTO matches VALUES (?)", ("m",), Exception("database is locked"))
    with follow() as run:
        until(lambda: run.progress.not_ready_because() == [])
        monkeypatch.setattr(database.storage, "store", Mock(side_effect=locked))
        run.progress._silence_s = 0.0
        log.append(match_record("m-1"))
        until(lambda: run.progress.not_ready_because() == ["the database is locked by another process"])
        assert database.metrics.kafka_up._value.get() == 1


def test_whoever_lost_the_database_is_not_ready_whatever_kafka_says() -> None:
    lost: list[str] = []
    progress = Progress(60.0, database_is_lost=lambda: bool(lost))
    progress.heard()
    progress.caught_up()
    assert progress.not_ready_because() == []
    lost.append("gone")
    [sentence] = progress.not_ready_because()
    assert "the database was deleted or replaced" in sentence
    assert "/" not in sentence


def test_a_few_transactions_go_at_once_and_then_so_many_a_second() -> None:
    now_s, begun_s = 100.0, list[float]()
    pace = Pace(a_second=25, at_once=3, clock_s=lambda: now_s)
    for pause_s in (0.0, 0.0, 0.0, 0.0, 0.01, 0.0, 10.0, 0.0, 0.0, 0.0, 0.0):
        now_s += pause_s
        begun_s.append(now_s)
        now_s += pace.rest_s()
    rests_s = [later - earlier for earlier, later in pairwise([*begun_s, now_s])]
    assert rests_s == pytest.approx([0, 0, 0.04, 0.04 + 0.01, 0.03, 10.04, 0, 0, 0.04, 0.04, 0.04], abs=1e-9)
