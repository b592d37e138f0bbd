"""What every log does, whoever keeps its records: a suite that the tests of each kind of log inherit."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

import pytest
from hypothesis import strategies as st

from coincide.wire.declarations.stream_records import StreamRecord
from services.common.declared_streams import DeclaredStreams
from services.common.log.declared_topic import Topic, TopicConflictError
from services.common.log.faults import (
    LogError,
    NoSuchTopicError,
    OffsetGoneError,
    UnusableRecordError,
)
from services.common.log.log import Log
from services.common.log.placing import partition_of
from services.common.log.reader import LogReader
from services.common.log.records import NewRecord, Record, RecordPosition, TopicPartition, size_of
from services.common.topics.compacted_topic import TopicFollower
from tests.patience import until
from tests.reference.record_lists import ListLog

WAIT_S = 60.0
#: Else records that say an old time go while a test looks at them.
FOREVER = {"retention.ms": "-1"}


class Logs(Protocol):
    """One log that a test may open as often as it likes, also from other processes."""

    @property
    def address(self) -> Sequence[str]:
        """The arguments by which `appending_process` finds it."""

    def open(self) -> Log:
        """Return the log; the test closes it."""

    def name(self) -> str:
        """Return a name that no topic has."""

    def expire(self, topic: str) -> None:
        """Have all records that the topic has deleted, as its retention would."""

    def replace(self, topic: str) -> None:
        """Delete a topic of one partition and make it anew; every log is closed meanwhile."""


def declare(log: Log, topic: str, version: int, delay_s: float) -> None:
    declared = StreamRecord(v=1, stream="bell", version=version, max_delay_s=delay_s, longest_template_s=1.0)
    append(log, NewRecord(topic, declared.key, declared.to_record()))


def record(topic: str, value: bytes, key: bytes | None = b"k", partition: int | None = None) -> NewRecord:
    return NewRecord(topic, key, value, partition=partition)


def append(log: Log, *records: NewRecord) -> list[RecordPosition]:
    return log.append(records).result(WAIT_S)


def append_values(log: Log, topic: str, *values: bytes) -> list[int]:
    """Append them one after the other, and return their offsets."""
    return [append(log, record(topic, value))[0].offset for value in values]


def read_up_to(reader: LogReader, ends: dict[TopicPartition, int]) -> list[Record]:
    return [each for records in reader.up_to(ends) for each in records]


def read_all(log: Log, *topics: str) -> list[Record]:
    with log.reader() as reader:
        partitions = reader.partitions_of(*topics)
        reader.read_from(dict.fromkeys(partitions))
        return read_up_to(reader, reader.ends(partitions))


def values(records: Sequence[Record]) -> list[bytes | None]:
    return [each.value for each in records]


def made(logs: Logs, log: Log, partitions: int = 1, configs: Mapping[str, str] = FOREVER) -> str:
    name = logs.name()
    log.create_topics({name: Topic(partitions=partitions, configs=dict(configs))})
    return name


class LogContract:
    """The suite; whoever inherits it has a fixture `logs`."""

    shows_groups = False

    @pytest.fixture
    def log(self, logs: Logs) -> Iterator[Log]:
        opened = logs.open()
        yield opened
        opened.close()

    @pytest.fixture
    def topic(self, logs: Logs, log: Log) -> str:
        """A topic of one partition, from which records may go."""
        return made(logs, log, configs={})

    def test_what_is_read_between_offsets_ends_before_the_second(self, logs: Logs, log: Log) -> None:
        name = made(logs, log, 2)
        here, there = TopicPartition(name, 0), TopicPartition(name, 1)
        for nth in range(5):
            append(log, record(name, b"%d" % nth, partition=0), record(name, b"%d" % nth, partition=1))
        with log.reader(most_records=2) as reader:
            read = [each for some in reader.between({here: 1, there: 4}, {here: 4, there: 5}) for each in some]
            assert sorted((each.partition, each.offset) for each in read) == [(0, 1), (0, 2), (0, 3), (1, 4)]
            assert list(reader.between({here: 4}, {here: 4})) == []

    def test_it_tells_which_record_was_written_first_from_a_time_on(self, logs: Logs, log: Log) -> None:
        name = made(logs, log, 2)
        here, there = TopicPartition(name, 0), TopicPartition(name, 1)
        for at_ms in (10, 30, 20, 40):
            append(log, NewRecord(name, b"k", b"v", timestamp_ms=at_ms, partition=0))
        with log.reader() as reader:
            assert reader.written_since([here, there], 0) == {here: 0}
            assert reader.written_since([here], 11) == {here: 1}
            assert reader.written_since([here, there], 41) == {}

    def test_records_are_read_as_they_were_appended(self, logs: Logs, log: Log) -> None:
        topic = made(logs, log)
        headers = (("by", b"me"), ("empty", b""), ("by", b"\xff"))
        written = [
            NewRecord(topic, b"key", b"value", headers, timestamp_ms=1_700_000_000_123),
            NewRecord(topic, b"key", None, timestamp_ms=1_700_000_000_000),
            NewRecord(topic, None, b"\x00\xff" * 5_000, timestamp_ms=0),
            NewRecord(topic, b"", b"", timestamp_ms=1),
        ]
        assert append(log, *written) == [RecordPosition(topic, 0, n) for n in range(4)]
        expected = [
            Record(topic, 0, n, each.timestamp_ms or 0, each.key, each.value, each.headers)
            for n, each in enumerate(written)
        ]
        assert read_all(log, topic) == expected

    def test_a_record_without_a_timestamp_gets_that_of_now(self, log: Log, topic: str) -> None:
        append_values(log, topic, b"one")
        [first] = read_all(log, topic)
        append_values(log, topic, b"two")
        [_, second] = read_all(log, topic)
        assert 1_700_000_000_000 < first.timestamp_ms <= second.timestamp_ms

    def test_positions_rise_by_one_and_are_the_same_for_who_opens_it_again(self, logs: Logs, topic: str) -> None:
        for expected in (0, 1, 2):
            opened = logs.open()
            assert append_values(opened, topic, b"%d" % expected) == [expected]
            opened.close()
        opened = logs.open()
        assert values(read_all(opened, topic)) == [b"0", b"1", b"2"]
        opened.close()

    def test_a_key_has_one_partition_and_a_partition_may_be_named(self, logs: Logs, log: Log) -> None:
        topic = made(logs, log, partitions=8)
        keys = [b"area-%d" % n for n in range(40)]
        positions = append(log, *(record(topic, b"", key) for key in keys))
        assert [each.partition for each in positions] == [partition_of(key, 8) for key in keys]
        assert {each.partition for each in positions} == set(range(8))
        named = append(log, *(record(topic, b"beat", None, number) for number in range(8)))
        assert [each.partition for each in named] == list(range(8))

    def test_some_partitions_are_read_from_some_offsets(self, logs: Logs, log: Log) -> None:
        topic, other = made(logs, log, partitions=3), made(logs, log)
        append(log, *(record(topic, b"%d" % n, None, n % 3) for n in range(9)), record(other, b"another"))
        with log.reader() as reader:
            reader.read_from({TopicPartition(topic, 0): 1, TopicPartition(topic, 2): None})
            assert reader.position(TopicPartition(topic, 0)) == 1
            assert reader.position(TopicPartition(topic, 2)) == 0
            found = read_up_to(reader, {TopicPartition(topic, 0): 3, TopicPartition(topic, 2): 3})
        by_partition = {n: values([each for each in found if each.partition == n]) for n in (0, 1, 2)}
        assert by_partition == {0: [b"3", b"6"], 1: [], 2: [b"2", b"5", b"8"]}

    def test_a_poll_is_bounded_by_records_and_by_bytes(self, log: Log, topic: str) -> None:
        append(log, *(record(topic, b"%04d" % n * 250) for n in range(20)))
        size = size_of(record(topic, b"0000" * 250))
        for bounds, expected in (((7, 2**20), 7), ((500, 3 * size), 3), ((500, 3 * size + 1), 4), ((500, 1), 1)):
            with log.reader(*bounds) as reader:
                reader.read_from({TopicPartition(topic, 0): 0})
                polled = [records for records in reader.up_to({TopicPartition(topic, 0): 20}) if records]
            assert max(map(len, polled)) == len(polled[0]) == expected
            assert [each.offset for records in polled for each in records] == list(range(20))

    def test_beginnings_and_ends(self, logs: Logs, log: Log) -> None:
        topic = made(logs, log, partitions=2)
        append(log, *(record(topic, b"", None, 1) for _ in range(3)))
        with log.reader() as reader:
            partitions = reader.partitions_of(topic)
            assert partitions == [TopicPartition(topic, 0), TopicPartition(topic, 1)]
            assert list(reader.beginnings(partitions).values()) == [0, 0]
            assert list(reader.ends(partitions).values()) == [0, 3]

    def test_what_was_written_since_a_time_begins_at_an_offset(self, logs: Logs, log: Log) -> None:
        topic = made(logs, log, partitions=3)
        append(log, *(NewRecord(topic, None, b"", timestamp_ms=at_ms, partition=0) for at_ms in (10, 20, 20, 40)))
        append(log, NewRecord(topic, None, b"", timestamp_ms=5, partition=1))
        with log.reader() as reader:
            first, second, third = reader.partitions_of(topic)
            for at_ms, expected in ((0, {first: 0, second: 0}), (11, {first: 1}), (20, {first: 1}), (21, {first: 3})):
                assert reader.written_since([first, second, third], at_ms) == expected
            assert reader.written_since([first, second], 41) == {}

    def test_how_far_a_group_has_read_may_be_shown(self, log: Log, topic: str) -> None:
        """Not every log has a place for it; none fails."""
        append_values(log, topic, b"1", b"2")
        place = TopicPartition(topic, 0)
        for expected in (False, self.shows_groups):
            with log.reader(group="night-watch") as reader:
                reader.read_from({place: None})
                assert reader.was_shown([place]) == expected
                read_up_to(reader, {place: 2})
                reader.show({place: 2})
                until(lambda: reader.was_shown([place]) == self.shows_groups, every_s=0.05)

    def test_a_log_says_who_it_is_and_what_keeps_it_from_appending(self, log: Log, topic: str) -> None:
        append_values(log, topic, b"1")
        assert log.problem is None
        assert log.name in ("Kafka", "the log")

    def test_a_poll_waits_for_what_comes(self, log: Log, topic: str) -> None:
        with log.reader() as reader:
            reader.read_from({TopicPartition(topic, 0): None})
            assert reader.poll(0.01) == []
            found: list[Record] = []
            waiting = threading.Thread(target=lambda: found.extend(reader.poll(WAIT_S)))
            waiting.start()
            append_values(log, topic, b"it")
            waiting.join(WAIT_S)
            assert values(found) == [b"it"]

    def test_what_is_deleted_is_told_and_positions_never_go_back(self, logs: Logs, log: Log, topic: str) -> None:
        append_values(log, topic, *(b"%d" % n for n in range(5)))
        place = TopicPartition(topic, 0)
        with log.reader() as reader:
            logs.expire(topic)
            assert reader.beginnings([place]) == reader.ends([place]) == {place: 5}
            assert append_values(log, topic, b"5", b"6") == [5, 6]
            reader.read_from({place: 2})
            for _ in range(2):  # it is told until somebody says where to go on
                with pytest.raises(OffsetGoneError, match=f"offset 2 of {topic}, partition 0, is not there") as told:
                    reader.up_to({place: 7}).__next__()
                assert (told.value.offset, told.value.beginning, told.value.end) == (2, 5, 7)
            reader.read_from({place: told.value.beginning})
            assert values(read_up_to(reader, {place: 7})) == [b"5", b"6"]
            reader.read_from({place: None})
            assert values(read_up_to(reader, {place: 7})) == [b"5", b"6"]

    def test_positions_go_on_where_all_records_are_gone_and_the_log_was_closed(self, logs: Logs, topic: str) -> None:
        for expected in (0, 2):
            opened = logs.open()
            assert append_values(opened, topic, b"a", b"b") == [expected, expected + 1]
            logs.expire(topic)
            opened.close()

    def test_an_offset_that_was_never_there_is_told(self, log: Log, topic: str) -> None:
        append_values(log, topic, b"only")
        with log.reader() as reader:
            reader.read_from({TopicPartition(topic, 0): 9})
            with pytest.raises(OffsetGoneError) as told:
                reader.poll(WAIT_S)
        assert (told.value.offset, told.value.beginning, told.value.end) == (9, 0, 1)

    def test_a_topic_that_is_not_there_is_told(self, logs: Logs, log: Log) -> None:
        name = logs.name()
        with pytest.raises(NoSuchTopicError, match=f"there is no topic {name}"):
            append(log, record(name, b"lost"))
        with log.reader() as reader:
            assert not reader.has(name)
            with pytest.raises(NoSuchTopicError):
                reader.partitions_of(name)
            with pytest.raises(NoSuchTopicError):
                reader.read_from({TopicPartition(name, 0): None})

    def test_topics_are_made_once_and_their_settings_change(self, logs: Logs, log: Log) -> None:
        name = logs.name()
        declared = Topic(partitions=2, configs={"retention.ms": "1000000"})
        assert log.create_topics({name: declared}) == [f"created {name} (2 partitions)"]
        assert log.create_topics({name: declared}) == []
        append(log, record(name, b"kept"))
        altered = Topic(partitions=2, configs={"retention.ms": "2000000"})
        assert log.create_topics({name: altered}) == [f"set {name}: retention.ms=2000000"]
        with pytest.raises(TopicConflictError, match=r"has 2 partitions, .* says 3: a topic keeps"):
            log.create_topics({name: Topic(partitions=3)})
        assert values(read_all(log, name)) == [b"kept"]

    def test_a_topic_has_an_id_of_its_own_which_lasts(self, logs: Logs, log: Log, topic: str) -> None:
        other = made(logs, log)
        again = logs.open()
        with log.reader() as reader, again.reader() as another:
            for each in (reader, another):
                each.read_from({TopicPartition(topic, 0): None, TopicPartition(other, 0): None})
                each.refuse_replaced()
            assert reader.topic_id(topic) == another.topic_id(topic) is not None
            assert reader.topic_id(topic) != reader.topic_id(other)
        again.close()

    def test_a_topic_made_anew_is_another(self, logs: Logs) -> None:
        before = logs.open()
        topic = made(logs, before)
        with before.reader() as reader:
            reader.read_from({TopicPartition(topic, 0): None})
            reader.refuse_replaced()
            known = reader.topic_id(topic)
        before.close()
        logs.replace(topic)
        after = logs.open()
        with after.reader() as reader:
            reader.read_from({TopicPartition(topic, 0): None})
            assert reader.topic_id(topic) not in (known, None)
        after.close()

    def test_what_no_topic_takes_is_refused_and_nothing_of_its_append_is_written(self, logs: Logs, log: Log) -> None:
        topic = made(logs, log, partitions=2, configs={"max.message.bytes": "10000"})
        good = record(topic, b"good", None, 0)
        for bad, why in (
            (NewRecord(topic, None, None), "a record has neither a key nor a value"),
            (record(topic, b"", None, 2), "partition 2 of .*: there are those from 0 to 1"),
            (record(topic, b"x" * 20_000, None, 0), "has 20... bytes"),
        ):
            with pytest.raises(UnusableRecordError, match=why) as told:
                append(log, bad)
            assert not told.value.is_retriable
        assert append(log, good) == [RecordPosition(topic, 0, 0)]

    def test_a_compacted_topic_takes_no_record_without_a_key(self, logs: Logs, log: Log) -> None:
        topic = made(logs, log, configs={"cleanup.policy": "compact"})
        with pytest.raises(UnusableRecordError, match="key"):
            append(log, record(topic, b"whose?", None))
        assert append_values(log, topic, b"mine") == [0]

    def test_an_empty_append_is_done_at_once(self, log: Log) -> None:
        assert append(log) == []

    def test_nothing_is_appended_once_it_is_closed(self, logs: Logs, topic: str) -> None:
        opened = logs.open()
        waits = [opened.append([record(topic, b"%d" % n)]) for n in range(50)]
        opened.close()
        assert [each.result(0)[0].offset for each in waits] == list(range(50))
        with pytest.raises(LogError, match="the log is closed"):
            append(opened, record(topic, b"late"))

    def test_threads_append_at_once_and_each_keeps_its_order(self, logs: Logs, log: Log) -> None:
        topic = made(logs, log, partitions=2)
        each, writers = 25, 16

        def write(writer: int) -> None:
            for n in range(each):
                append(log, record(topic, b"%d %d" % (writer, n), None, writer % 2))

        in_threads([partial(write, number) for number in range(writers)])
        check_all_there(read_all(log, topic), writers, each)

    def test_coroutines_append_at_once(self, log: Log, topic: str) -> None:
        async def write(writer: int) -> list[int]:
            appended = [log.append([record(topic, b"%d %d" % (writer, n))]) for n in range(10)]
            return [(await asyncio.wrap_future(future))[0].offset for future in appended]

        async def write_all() -> list[list[int]]:
            return await asyncio.gather(*map(write, range(20)))

        offsets = asyncio.run(write_all())
        assert sorted(offset for some in offsets for offset in some) == list(range(200))
        assert all(some == sorted(some) for some in offsets)
        check_all_there(read_all(log, topic), writers=20, each=10)

    def test_a_service_follows_a_compacted_topic(self, logs: Logs, log: Log) -> None:
        """As ingest and alerting follow the streams that are declared: by the same follower, and the same view."""
        topic = made(logs, log, configs={"cleanup.policy": "compact"})
        declare(log, topic, 1, 7.0)
        streams = DeclaredStreams({}, follows=True)
        follower = TopicFollower(topic, streams, log.reader)
        follower.start()
        until(lambda: streams.is_caught_up, every_s=0.01)
        assert streams["bell"].max_delay_s == 7.0
        declare(log, topic, 2, 9.0)
        until(lambda: streams["bell"].max_delay_s == 9.0, every_s=0.01)
        assert follower.log_answers
        follower.stop()
        assert not follower.is_alive()

    def test_a_follower_waits_for_a_topic_that_is_not_there_yet(
        self, logs: Logs, log: Log, caplog: pytest.LogCaptureFixture
    ) -> None:
        topic = logs.name()
        streams = DeclaredStreams({}, follows=True)
        follower = TopicFollower(topic, streams, log.reader)
        follower.start()
        until(lambda: f"cannot go on: there is no topic {topic}" in caplog.text, every_s=0.01)
        log.create_topics({topic: Topic(partitions=1)})
        until(lambda: streams.is_caught_up, every_s=0.01)
        follower.stop()

    def test_two_processes_append_and_a_third_reads_what_comes(self, logs: Logs, log: Log) -> None:
        topic, each = made(logs, log, partitions=2), 100
        command = [sys.executable, "-m", "tests.services.common.log.appending_process", *logs.address, topic, str(each)]
        writers = [subprocess.Popen([*command, str(number)]) for number in range(2)]
        found: list[Record] = []
        try:
            with log.reader() as reader:
                reader.read_from(dict.fromkeys(reader.partitions_of(topic)))
                while len(found) < 2 * each:
                    found += reader.poll(WAIT_S)
        finally:
            assert [writer.wait(WAIT_S) for writer in writers] == [0, 0]
        check_all_there(found, writers=2, each=each)


def in_threads(tasks: Sequence[Callable[[], object]]) -> None:
    """Do all at once; whatever one of them raises is raised."""
    outcomes: list[Future[object]] = [Future() for _ in tasks]

    def run(task: Callable[[], object], outcome: Future[object]) -> None:
        try:
            outcome.set_result(task())
        except BaseException as error:
            outcome.set_exception(error)

    threads = [threading.Thread(target=run, args=each) for each in zip(tasks, outcomes, strict=True)]
    for thread in threads:
        thread.start()
    for thread, outcome in zip(threads, outcomes, strict=True):
        thread.join(WAIT_S)
        outcome.result(0)


def check_all_there(records: Sequence[Record], writers: int, each: int) -> None:
    """Records of several writers, whose values are "WRITER NUMBER": all are there, each writer's in its order."""
    for partition in {record.partition for record in records}:
        offsets = [record.offset for record in records if record.partition == partition]
        assert offsets == list(range(len(offsets)))
    found: dict[int, list[int]] = {}
    for record in records:
        writer, number = map(int, (record.value or b"").split())
        found.setdefault(writer, []).append(number)
    assert found == {writer: list(range(each)) for writer in range(writers)}


PARTITIONS = {"first": 1, "second": 3}
_bytes = st.one_of(st.none(), st.binary(max_size=4))
_appended = st.lists(
    st.builds(
        lambda topic, key, value, headers, at, number: NewRecord(
            topic, key, value if key is not None or value is not None else b"", headers, at, number % PARTITIONS[topic]
        ),
        st.sampled_from(sorted(PARTITIONS)),
        _bytes,
        _bytes,
        st.lists(st.tuples(st.text("ab", max_size=2), st.binary(max_size=3)), max_size=2).map(tuple),
        st.integers(0, 1_700_000_000_000),  # of now at most: Kafka refuses what is to come
        st.integers(0, 2),
    ),
    max_size=4,
)
_read = st.tuples(st.integers(1, 5), st.integers(1, 400), st.floats(0, 1))
STEPS = st.lists(st.one_of(_appended, _read), max_size=12)


def follows_the_twin(log: Log, names: dict[str, str], steps: Sequence[Any]) -> None:
    """The law: whatever is appended, and wherever it is read from, a log says what lists of records say."""
    log.create_topics({names[topic]: Topic(partitions=count, configs=FOREVER) for topic, count in PARTITIONS.items()})
    twin = ListLog({names[topic]: count for topic, count in PARTITIONS.items()})
    for step in steps:
        if isinstance(step, list):
            records = [each._replace(topic=names[each.topic]) for each in step]
            assert log.append(records).result(WAIT_S) == twin.append(records)
            continue
        most_records, most_bytes, share = step
        with log.reader(most_records, most_bytes) as reader:
            ends = {each: len(records) for each, records in twin.lists.items()}
            assert reader.ends(ends) == ends
            starts = {each: round(share * end) for each, end in ends.items()}
            reader.read_from(starts)
            found: list[Record] = []
            for polled in reader.up_to(ends):
                assert len(polled) <= most_records
                assert sum(map(size_of, polled[:-1])) < most_bytes
                found += polled
        for each, start in starts.items():
            assert [record for record in found if record[:2] == each] == twin.left(each, start)
