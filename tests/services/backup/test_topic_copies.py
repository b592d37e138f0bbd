"""Records come back as a log had them: keys, values, headers, times, partitions, and offsets where they count."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from deploy.host.machine import free_ports
from deploy.local.broker import Broker
from services.backup.exact_logs import ExactKafkaLog, ExactLog, FilePlace, KafkaPlace, LogPlace
from services.backup.folder import BackupError, SavedPartition
from services.backup.record_files import SavedRecord
from services.backup.topic_copies import save_topics
from services.backup.topic_filling import FilledPartition, restore_topics
from services.common.engine.shard_state import SHARD_STATE
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.declared_topic import Topic
from services.common.log.records import NewRecord, Record, RecordPosition, TopicPartition
from services.common.topics.line_topics import topics_of_line
from services.common.topics.topic_names import TopicNames

NAMES = TopicNames("reef.")
DETECTIONS, QUERIES, MATCHES, KEYS = map(NAMES.full, ("detections", "queries", "matches", "keys"))
STATE = NAMES.full(SHARD_STATE)
COMPACTED = Topic(partitions=1, configs={"cleanup.policy": "compact"})
TOPICS = {DETECTIONS: Topic(partitions=3), QUERIES: COMPACTED, MATCHES: Topic(partitions=2), KEYS: COMPACTED}
NOW_MS = round(time.time() * 1000)  # a log deletes what is older than it keeps records for
EXPIRED = 250_001  # records of a partition that were deleted
LARGE = b"\x00\xff" * 500_000
WAIT_S = 60.0

Extents = dict[int, tuple[int, int]]
Copies = Mapping[str, list[SavedPartition]]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LogPlace, LogPlace]]:
    """Two; the first has `TOPICS` as a system has left them."""
    both = [Broker(tmp_path_factory.mktemp("kafka"), *free_ports(2)) for _ in range(2)]
    try:
        for broker in both:
            broker.start()
        first, second = (KafkaPlace(KafkaConnection(servers=broker.bootstrap)) for broker in both)
        write_to(first)
        yield first, second
    finally:
        for broker in both:
            broker.stop()


def write_to(place: LogPlace) -> None:
    """Partition 1 of the detections begins behind what expired, and partition 2 has no record any more."""
    with place.opened() as exact:
        exact.log.create_topics(topics_of_line(TOPICS, NAMES) if exact.takes_state else TOPICS)
        for number, begin in ((1, EXPIRED), (2, 7)):
            exact.skip(TopicPartition(DETECTIONS, number), range(begin), None)
            exact.begin_at(TopicPartition(DETECTIONS, number), begin)
        for topic, declared in TOPICS.items():
            records = [
                NewRecord(
                    topic,
                    key=None if n == 3 and declared is not COMPACTED else f"key {n}".encode(),
                    value={3: b"", 4: None, 5: LARGE}.get(n, bytes([n, 0, 255])),
                    headers=(("of", b"\x00\xff"), ("empty", b"")) if n == 6 else (),
                    timestamp_ms=NOW_MS + n,
                    partition=n % min(2, declared.partitions),
                )
                for n in range(12)
            ]
            exact.log.append(records).result(WAIT_S)
        if exact.takes_state:
            exact.log.append([NewRecord(STATE, b"header/0", b"\x00" * 9)]).result(WAIT_S)


def read(exact: ExactLog, topic: str) -> tuple[Extents, list[Record]]:
    """Return the first and the end offset of each partition, and all records."""
    with exact.log.reader() as reader:
        places = reader.partitions_of(topic)
        begins, ends = reader.beginnings(places), reader.ends(places)
        reader.read_from(dict.fromkeys(places))
        records = [each for polled in reader.up_to(ends) for each in polled]
    return {each.partition: (begins[each], ends[each]) for each in places}, sorted(records, key=lambda each: each[:3])


def save(place: LogPlace, folder: Path, topics: Mapping[str, Topic] = TOPICS) -> Copies:
    with place.opened() as exact:
        return save_topics(exact.log, topics_of_line(topics, NAMES) if exact.takes_state else topics, NAMES, folder)


def restore(place: LogPlace, saved: Copies, folder: Path, topics: Mapping[str, Topic] = TOPICS) -> None:
    with place.opened() as exact:
        restore_topics(exact, topics_of_line(topics, NAMES) if exact.takes_state else topics, NAMES, saved, folder)


@contextmanager
def both_open(one: LogPlace, other: LogPlace) -> Iterator[tuple[ExactLog, ExactLog]]:
    with one.opened() as first, other.opened() as second:
        yield first, second


def assert_equal(one: LogPlace, other: LogPlace) -> None:
    with both_open(one, other) as (first, second):
        for topic in TOPICS:
            places, records = read(first, topic)
            assert len(records) == 12
            assert read(second, topic) == (places, records), topic


def local(folder: Path) -> FilePlace:
    return FilePlace(folder / "log.sqlite3", is_new=True)


def test_a_restored_file_has_the_same_records_in_the_same_places_and_the_state(tmp_path: Path) -> None:
    first, second = local(tmp_path / "first"), local(tmp_path / "second")
    write_to(first)
    with first.opened() as exact:  # what compaction leaves out
        exact.skip(TopicPartition(QUERIES, 0), range(12, 20), None)
        exact.log.append([NewRecord(QUERIES, b"key 0", b"new")]).result(WAIT_S)
    saved = save(first, tmp_path / "saved")
    assert saved[DETECTIONS] == [
        SavedPartition(0, 6, 6),
        SavedPartition(EXPIRED, EXPIRED + 6, 6),
        SavedPartition(7, 7, 0),
    ]
    assert saved[QUERIES] == [SavedPartition(0, 21, 13)]
    with first.opened() as exact:
        assert read(exact, DETECTIONS)[0] == {0: (0, 6), 1: (EXPIRED, EXPIRED + 6), 2: (7, 7)}
    restore(second, saved, tmp_path / "saved")
    with both_open(first, second) as (one, other):
        for topic in (*TOPICS, STATE):
            assert read(other, topic) == read(one, topic), topic
    with pytest.raises(BackupError, match=r"has records: restore into a log without any"):
        restore(second, saved, tmp_path / "saved")
    another = {"reef.new": Topic(partitions=1)}
    with pytest.raises(
        BackupError,
        match=r"the backup has the topic reef\.detections, which [^\n]* not declare for the topic_prefix 'reef\.'$",
    ):
        restore(local(tmp_path / "third"), {DETECTIONS: saved[DETECTIONS]}, tmp_path / "saved", another)
    with pytest.raises(BackupError, match=r"^there is no topic reef\.new: [^\n]* --prefix reef\. creates it$"):
        save(first, tmp_path / "other", another)
    with pytest.raises(BackupError, match=r"^there is no log "):
        save(FilePlace(tmp_path / "nowhere"), tmp_path / "other")


@pytest.mark.jvm
def test_what_was_saved_of_kafka_comes_back_in_a_file_and_from_there_in_another_kafka(
    brokers: tuple[LogPlace, LogPlace], tmp_path: Path
) -> None:
    first, second = brokers
    file = local(tmp_path)
    saved = save(first, tmp_path / "of-kafka")
    restore(file, saved, tmp_path / "of-kafka")
    assert_equal(first, file)
    again = save(file, tmp_path / "of-file")
    assert {each: again[each] for each in TOPICS} == saved
    restore(second, again, tmp_path / "of-file")
    assert_equal(first, second)
    with pytest.raises(BackupError, match=r"has records: restore into a log without any"):
        restore(second, saved, tmp_path / "of-kafka")


class KeptLog:
    """A log of which records are wanted only, and the offsets that it gives, from a first one on."""

    def __init__(self, first: int = 0) -> None:
        self.next = first
        self.keys: list[bytes | None] = []

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        self.keys += [each.key for each in records]
        places = [RecordPosition(each.topic, 0, self.next + n) for n, each in enumerate(records)]
        self.next += len(records)
        written = Future[list[RecordPosition]]()
        written.set_result(places)
        return written


def kept(offset: int) -> SavedRecord:
    return SavedRecord(offset, 0, f"key {offset}".encode(), b"", [])


def filled(log: KeptLog, topic: str, kind: Topic = COMPACTED) -> FilledPartition:
    place = ExactKafkaLog(cast("KafkaLog", log), KafkaConnection(servers="nowhere:1"))
    return FilledPartition(place, TopicPartition(topic, 0), kind, NAMES)


def test_what_compaction_left_out_is_told_by_copies_of_what_came_next() -> None:
    queries, keys = KeptLog(), KeptLog()
    filled(queries, QUERIES).write(map(kept, (2, 3, 6)))
    assert queries.keys == [b"key 2"] * 3 + [b"key 3"] + [b"key 6"] * 3
    filled(keys, KEYS).write(map(kept, (2, 3, 6)))
    assert keys.keys == [b"key 2", b"key 3", b"key 6"]


@pytest.mark.parametrize("topic", [QUERIES, KEYS])
def test_a_record_of_somebody_else_is_noticed(topic: str) -> None:
    with pytest.raises(BackupError, match=rf"^somebody else writes to {topic}: a record got offset 1, not 0$"):
        filled(KeptLog(first=1), topic).write([kept(0)])
