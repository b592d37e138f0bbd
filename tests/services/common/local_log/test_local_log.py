"""The log in a file: the contract of every log, and what a file has of its own."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.common.local_log.local_log import LocalLog
from services.common.local_log.tidying import STEP_RECORDS, tidy
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError
from services.common.log.records import NewRecord, Record, TopicPartition
from tests.examples import examples
from tests.patience import until
from tests.reference.record_lists import ListLog
from tests.services.common.local_log.local_logs import LocalLogs
from tests.services.common.log.contract import (
    STEPS,
    WAIT_S,
    LogContract,
    append,
    append_values,
    follows_the_twin,
    in_threads,
    made,
    read_all,
    record,
    values,
)


@pytest.fixture
def logs(tmp_path: Path) -> LocalLogs:
    return LocalLogs(tmp_path)


@pytest.fixture
def log(logs: LocalLogs) -> Iterator[LocalLog]:
    with closing(logs.open()) as opened:
        yield opened


class TestLocalLog(LogContract):
    """The contract."""


@settings(max_examples=examples(100))
@given(steps=STEPS)
def test_it_says_what_lists_say(steps: list[object]) -> None:
    with LocalLogs.in_memory() as logs, closing(logs.open()) as log:
        follows_the_twin(log, {"first": "one", "second": "two"}, steps)


def test_appends_that_wait_share_a_transaction(logs: LocalLogs, log: LocalLog) -> None:
    topic = made(logs, log)
    before = log.transactions
    with logs.locked():
        waits = [log.append([record(topic, b"%d" % n)]) for n in range(500)]
        assert not any(each.done() for each in waits)
    assert [each.result(WAIT_S)[0].offset for each in waits] == list(range(500))
    assert 1 <= log.transactions - before <= 2  # what the first one took, and what came while it waited


def test_one_refused_append_keeps_no_other_from_being_written(logs: LocalLogs, log: LocalLog) -> None:
    topic = made(logs, log)
    with logs.locked():
        first = log.append([record(topic, b"first")])
        half = log.append([record(topic, b"good"), record("nowhere", b"bad")])
        last = log.append([record(topic, b"last")])
    assert first.result(WAIT_S)[0].offset == 0
    assert last.result(WAIT_S)[0].offset == 1
    with pytest.raises(LogError, match="there is no topic nowhere"):
        half.result(WAIT_S)
    assert values(read_all(log, topic)) == [b"first", b"last"]


def test_an_append_to_several_topics_is_written_whole(logs: LocalLogs, log: LocalLog) -> None:
    one, two = made(logs, log), made(logs, log, partitions=2)
    positions = append(log, record(one, b"1"), record(two, b"2", None, 1), record(one, b"3"))
    assert [each[1:] for each in positions] == [(0, 0), (1, 0), (0, 1)]


def test_an_append_that_was_given_up_while_it_waited_is_not_written(logs: LocalLogs, log: LocalLog) -> None:
    topic = made(logs, log)
    with logs.locked():
        first = log.append([record(topic, b"first")])
        until(first.running, every_s=0.001)
        second = log.append([record(topic, b"second")])
        assert second.cancel()
    assert first.result(WAIT_S)[0].offset == 0
    assert append_values(log, topic, b"third") == [1]


def test_what_waits_is_bounded(logs: LocalLogs) -> None:
    with closing(logs.open(most_waiting_bytes=1_000)) as log:
        topic = made(logs, log)
        with logs.locked():
            large = log.append([record(topic, b"x" * 5_000)])  # one alone always has room
            with pytest.raises(LogError, match="too many bytes wait for the log") as told:
                append(log, record(topic, b"more"))
            assert told.value.is_retriable
        assert large.result(WAIT_S)[0].offset == 0
        assert append_values(log, topic, b"there is room again") == [1]


def test_a_file_that_another_process_keeps_to_itself_is_a_fault_that_passes(logs: LocalLogs) -> None:
    with closing(logs.open(busy_s=0.01)) as log:
        topic = made(logs, log)
        with logs.locked():
            with pytest.raises(LogError, match=r"another process keeps the log .*log\.sqlite to itself") as told:
                append(log, record(topic, b"lost"))
            assert told.value.is_retriable
            assert read_all(log, topic) == []  # who reads does not wait
        assert append_values(log, topic, b"kept") == [0]


def test_readers_never_block_the_writer(logs: LocalLogs, log: LocalLog) -> None:
    topic = made(logs, log)
    append_values(log, topic, b"before")
    with closing(logs.open(busy_s=0.0)) as writer, closing(log._file.connect()) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM records_1").fetchall()
        assert append_values(writer, topic, b"meanwhile") == [1]
        assert len(reader.execute("SELECT * FROM records_1").fetchall()) == 1


def test_what_another_process_commits_wakes_who_waits(logs: LocalLogs, log: LocalLog) -> None:
    topic = made(logs, log)
    with closing(logs.open()) as elsewhere, log.reader() as reader:
        reader.read_from({TopicPartition(topic, 0): None})
        found: list[object] = []
        waiting = threading.Thread(target=lambda: found.extend(reader.poll(WAIT_S)))
        began_s = time.monotonic()
        waiting.start()
        append_values(elsewhere, topic, b"from there")
        waiting.join(WAIT_S)
        assert len(found) == 1
        assert time.monotonic() - began_s < WAIT_S / 2  # it was woken, and did not look at the end alone


def test_a_poll_waits_no_longer_than_it_may(logs: LocalLogs, log: LocalLog) -> None:
    topic = made(logs, log)
    with log.reader() as reader:
        reader.read_from({TopicPartition(topic, 0): None})
        found: list[object] = []
        waiting = threading.Thread(target=lambda: found.extend([reader.poll(WAIT_S), reader.poll(WAIT_S)]))
        began_s = time.monotonic()
        waiting.start()
        reader.stop_waiting()
        waiting.join(WAIT_S)
        assert found == [[], []]
        assert time.monotonic() - began_s < WAIT_S / 2
        append_values(log, topic, b"there")
        assert len(reader.poll(WAIT_S)) == 1


def test_who_reads_other_topics_sleeps_on(logs: LocalLogs, log: LocalLog) -> None:
    quiet, busy = made(logs, log), made(logs, log)
    with log.reader() as reader:
        reader.read_from({TopicPartition(quiet, 0): None})
        reads: list[int] = []
        read = reader._read

        def counted() -> tuple[list[Record], bool]:
            reads.append(1)
            return read()

        reader._read = counted  # type: ignore[method-assign]
        waiting = threading.Thread(target=lambda: reader.poll(WAIT_S))
        waiting.start()
        until(lambda: bool(reads), every_s=0.001)
        append_values(log, busy, *(b"%d" % n for n in range(50)))
        looks = len(reads)
        append_values(log, quiet, b"now")
        waiting.join(WAIT_S)
        assert looks <= 2  # the first look, and one for the topic's making


def test_two_that_make_the_file_at_once_have_one(logs: LocalLogs) -> None:
    opened: list[LocalLog] = []
    in_threads([lambda: opened.append(logs.open()) for _ in range(8)])
    topic = made(logs, opened[0])
    for number, each in enumerate(opened):
        assert append_values(each, topic, b"%d" % number) == [number]
    for each in opened:
        each.close()
    assert [each.name for each in logs.path.parent.iterdir()] == [logs.path.name]


def test_a_file_that_is_deleted_in_use_is_told(logs: LocalLogs, log: LocalLog) -> None:
    topic = made(logs, log)
    with log.reader() as reader:
        reader.read_from({TopicPartition(topic, 0): None})
        reader.refuse_replaced()
        logs.path.rename(logs.path.with_name("away"))
        with pytest.raises(LogError, match=f"the topic {topic} was deleted and made anew"):
            reader.refuse_replaced()
        with pytest.raises(LogError, match="was deleted or replaced while it was in use"):
            append(log, record(topic, b"for nobody"))


def test_a_setting_that_cannot_be_used_is_named(logs: LocalLogs, log: LocalLog) -> None:
    for configs, why in (
        ({"retention.ms": "a week"}, "retention.ms is 'a week': allowed are whole numbers from 0 on, and -1"),
        ({"cleanup.policy": "burn"}, "cleanup.policy is 'burn': allowed are delete, compact"),
    ):
        with pytest.raises(ValueError, match=why):
            log.create_topics({"good": Topic(partitions=1), "bad": Topic(partitions=1, configs=configs)})
    assert log.create_topics({"good": Topic(partitions=1)}) == ["created good (1 partitions)"]


SECOND_MS = 1_000
_keyed = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([b"a", b"b", b"c"]), st.one_of(st.none(), st.binary(max_size=3))),
    max_size=8,
)


@settings(max_examples=examples(100))
@given(rounds=st.lists(_keyed, max_size=5), deletes=st.booleans())
def test_of_each_key_the_newest_stays_as_lists_say(
    rounds: list[list[tuple[int, bytes, bytes | None]]], deletes: bool
) -> None:
    """A round of appends every second; a record displaces others once it is 2 s old, and a removal goes 3 s later."""
    settings = {"cleanup.policy": "compact", "min.compaction.lag.ms": "2000", "delete.retention.ms": "3000"}
    if deletes:
        settings |= {"cleanup.policy": "compact,delete", "retention.ms": "7000"}
    twin = ListLog({"t": 2})
    buried_ms: dict[tuple[int, int], int] = {}
    beginnings = {TopicPartition("t", number): 0 for number in range(2)}
    with LocalLogs.in_memory() as logs, closing(logs.open(tidied_every_s=1e9)) as log:
        log.create_topics({"t": Topic(partitions=2, configs=settings)})
        for second in range(len(rounds) + 12):
            now_ms = second * SECOND_MS
            some = rounds[second] if second < len(rounds) else []
            records = [NewRecord("t", key, value, (), now_ms, partition) for partition, key, value in some]
            assert append(log, *records) == twin.append(records)
            with closing(log._file.connect()) as connection:
                list(tidy(connection, now_ms))
            twin.compact(now_ms - 2_000, tombstones_go=False)
            for each in [row for of in twin.lists.values() for row in of if row is not None and row.value is None]:
                if each.timestamp_ms <= now_ms - 2_000:
                    since_ms = buried_ms.setdefault((each.partition, each.offset), now_ms)
                    if now_ms >= since_ms + 3_000:
                        twin.lists[TopicPartition("t", each.partition)][each.offset] = None
            if deletes:
                beginnings |= twin.delete(now_ms - 7_000, None)
            found = logs.rows(log, "t")
            for partition in twin.lists:
                assert found[partition] == [(each.offset, each.value) for each in twin.left(partition)]
            with log.reader() as reader:
                assert reader.beginnings(beginnings) == beginnings
                assert list(reader.ends(beginnings).values()) == [len(each) for each in twin.lists.values()]


@settings(max_examples=examples(100))
@given(
    sizes=st.lists(st.integers(0, 100), max_size=30),
    most_bytes=st.integers(0, 2_000),
    age_ms=st.one_of(st.none(), st.integers(0, 30)),
)
def test_a_partition_keeps_so_many_bytes_and_so_long_as_lists_say(
    sizes: list[int], most_bytes: int, age_ms: int | None
) -> None:
    twin = ListLog({"t": 1})
    configs = {"retention.bytes": str(most_bytes), "retention.ms": str(-1 if age_ms is None else age_ms)}
    with LocalLogs.in_memory() as logs, closing(logs.open(tidied_every_s=1e9)) as log:
        log.create_topics({"t": Topic(partitions=1, configs=configs)})
        records = [NewRecord("t", b"k", b"v" * size, (), at_ms, 0) for at_ms, size in enumerate(sizes)]
        append(log, *records)
        twin.append(records)
        with closing(log._file.connect()) as connection:
            list(tidy(connection, len(sizes)))
            [(kept,)] = connection.execute("SELECT bytes FROM partitions").fetchall()
        twin.delete(None if age_ms is None else len(sizes) - age_ms, most_bytes)
        assert values(read_all(log, "t")) == [each.value for each in twin.left(TopicPartition("t", 0))]
        assert kept == sum(65 + len(each.value or b"") for each in twin.left(TopicPartition("t", 0)))


def test_it_tidies_in_steps_and_appends_go_on_between_them(logs: LocalLogs) -> None:
    with closing(logs.open(tidied_every_s=1e9)) as log:
        topic = made(logs, log, configs={"retention.ms": "0"})
        append(log, *(record(topic, b"") for _ in range(10 * STEP_RECORDS)))
        with closing(log._file.connect()) as connection:
            steps = tidy(connection, 2**50)
            removed = [next(steps)]
            assert append_values(log, topic, b"between two steps") == [10 * STEP_RECORDS]
            removed += list(steps)
        assert max(removed) == STEP_RECORDS
        assert sum(removed) == 10 * STEP_RECORDS + 1
        assert append_values(log, topic, b"") == [10 * STEP_RECORDS + 1]


def test_a_process_tidies_by_itself_while_it_appends(logs: LocalLogs, log: LocalLog) -> None:
    topic = made(logs, log, configs={"cleanup.policy": "compact", "min.compaction.lag.ms": "0"})
    append_values(log, topic, *(b"%d" % n for n in range(100)))
    until(lambda: len(read_all(log, topic)) == 1, every_s=0.01)
    assert values(read_all(log, topic)) == [b"99"]
