"""Appends by a producer that breaks its word, or is away: nobody waits for long, and what landed is told."""

import threading
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
from kafka.future import Future

from services.common.kafka.sending import AWAY, NOT_CONNECTED, Sending
from services.common.log.append_queue import AppendQueue
from services.common.log.faults import LogError, NoSuchTopicError, PartlyAppendedError, UnusableRecordError
from services.common.log.records import NewRecord, RecordPosition
from services.common.topics.topic_names import TopicNames
from tests.patience import until

TOPIC = "reef.detections"
RECORD = NewRecord(TOPIC, b"bay", b"x" * 1000, timestamp_ms=5)
DEADLINE_S = 5.0


class Producer:
    """A producer whose records are settled when the test says so."""

    def __init__(self, *, settles: bool = True, refuses: Exception | None = None, lacks: str = "") -> None:
        self.settles, self.refuses, self.lacks = settles, refuses, lacks
        self.closed = threading.Event()
        self.sent: list[tuple[str, bytes | None, bytes | None, dict[str, Any]]] = []
        self.unsettled: list[Future] = []

    def partitions_for(self, topic: str) -> set[int]:
        if self.lacks and topic == self.lacks:
            raise KafkaTimeoutError
        return {0, 1, 2}

    def send(self, topic: str, value: bytes | None, key: bytes | None, **more: Any) -> Future:
        if self.refuses:
            raise self.refuses
        self.sent.append((topic, key, value, more))
        future = Future()
        if self.settles:
            self.acknowledge(future)
        else:
            self.unsettled.append(future)
        return future

    def acknowledge(self, future: Future) -> None:
        future.success(SimpleNamespace(topic=TOPIC, partition=0, offset=7))

    def close(self, timeout: float) -> None:
        self.closed.set()


LANDED = RecordPosition(TOPIC, 0, 7)


@contextmanager
def sending(*producers: Producer | Exception, **options: Any) -> Iterator[Sending]:
    """Have these `producers` one after the other, or the error raised; it waits little."""
    left = list(producers)

    def connect() -> KafkaProducer:
        next_up = left.pop(0) if left else KafkaTimeoutError()
        if isinstance(next_up, Exception):
            raise next_up
        return cast("KafkaProducer", next_up)

    chosen = {"timeout_s": DEADLINE_S, "grace_s": 0.0, "retry_s": 0.02, **options}
    sends = Sending(connect, AppendQueue(), TopicNames("reef."), **chosen)
    sends.connect()
    try:
        if not isinstance(producers[0], Exception):
            until(lambda: sends.problem is None, every_s=0.005)
        yield sends
    finally:
        sends.close()


def is_connected(sends: Sending) -> bool:
    return sends.problem is None


def test_records_are_sent_where_their_keys_belong_and_flushed_at_the_end() -> None:
    producer = Producer()
    with sending(producer) as sends:
        assert sends.append([RECORD, RECORD._replace(partition=2)]).result(DEADLINE_S) == [LANDED, LANDED]
        [first, second] = [more for *_, more in producer.sent]
        assert (first["timestamp_ms"], first["headers"], second["partition"]) == (5, [], 2)
        with pytest.raises(UnusableRecordError, match=r"partition 3 of reef\.detections: there are those from 0 to 2"):
            sends.append([RECORD, RECORD._replace(partition=3)]).result(DEADLINE_S)
        assert len(producer.sent) == 2
    assert producer.closed.is_set()


def test_what_comes_before_the_first_connection_waits_for_it_and_what_comes_while_it_is_away_does_not() -> None:
    gate = threading.Event()

    def connect() -> KafkaProducer:
        assert gate.wait(DEADLINE_S)
        raise KafkaTimeoutError

    sends = Sending(connect, AppendQueue(), TopicNames("reef."), DEADLINE_S, retry_s=0.02)
    first = sends.append([RECORD])
    assert not first.done()
    gate.set()
    with pytest.raises(LogError, match=NOT_CONNECTED) as told:
        first.result(DEADLINE_S)
    assert told.value.is_retriable
    gate.clear()  # from here on an attempt takes long, and nobody waits for it
    assert sends.append([RECORD]).exception(0) is not None
    gate.set()
    sends.close()


def test_it_is_found_when_it_comes() -> None:
    with sending(KafkaTimeoutError(), KafkaTimeoutError(), Producer()) as sends:
        until(lambda: is_connected(sends), every_s=0.005)
        assert sends.append([RECORD]).result(DEADLINE_S) == [LANDED]


def test_a_topic_that_kafka_does_not_have_is_named_until_it_is_there() -> None:
    lacking = Producer(lacks=TOPIC)
    with sending(KafkaTimeoutError(), *[lacking] * 500, topics=[TOPIC]) as sends:
        until(
            lambda: str(sends.problem).startswith(
                f"Kafka does not find the topic {TOPIC}: `python -m services.common.topics --prefix reef.` creates"
            ),
            every_s=0.005,
        )
        assert lacking.closed.wait(DEADLINE_S)
        lacking.lacks = ""
        until(lambda: is_connected(sends), every_s=0.005)


def test_a_topic_that_is_asked_for_later_is_refused_where_kafka_does_not_have_it_and_nobody_else_waits() -> None:
    asked = threading.Event()

    def lacks(_topic: str) -> bool:
        assert asked.wait(DEADLINE_S)
        return True

    with sending(Producer(lacks="reef.nowhere"), topics=[TOPIC], lacks=lacks) as sends:
        lost = [sends.append([RECORD._replace(topic="reef.nowhere")]) for _ in range(2)]
        assert sends.append([RECORD]).result(DEADLINE_S) == [LANDED]
        assert not any(each.done() for each in lost)
        asked.set()
        for each in lost:
            with pytest.raises(NoSuchTopicError, match=r"there is no topic reef\.nowhere: python -m"):
                each.result(DEADLINE_S)


def test_one_record_failing_does_not_fail_its_neighbour() -> None:
    producer = Producer(settles=False)
    with sending(producer, topics=[TOPIC]) as sends:
        appended = sends.append([RECORD, RECORD])
        producer.unsettled[0].failure(KafkaTimeoutError())
        producer.acknowledge(producer.unsettled[1])
        with pytest.raises(PartlyAppendedError) as told:
            appended.result(DEADLINE_S)
        assert told.value.positions == [None, LANDED]
        assert told.value.is_retriable


def test_a_producer_that_leaves_a_record_unsettled_is_replaced_and_what_it_says_later_disturbs_nobody() -> None:
    broken = Producer(settles=False)
    with sending(broken, Producer(), topics=[TOPIC], timeout_s=0.05) as sends:
        with pytest.raises(LogError, match="Kafka did not acknowledge in time") as told:
            sends.append([RECORD]).result(DEADLINE_S)
        assert told.value.is_retriable
        until(lambda: is_connected(sends) and broken.closed.is_set(), every_s=0.005)
        broken.acknowledge(broken.unsettled[0])
        assert sends.append([RECORD]).result(DEADLINE_S) == [LANDED]


def test_a_record_that_no_topic_takes_is_its_own_fault_and_not_the_producers() -> None:
    picky = Producer(refuses=MessageSizeTooLargeError())
    with sending(picky, topics=[TOPIC]) as sends:
        with pytest.raises(UnusableRecordError, match=r"a record of reef\.detections has 1067 bytes"):
            sends.append([RECORD]).result(DEADLINE_S)
        picky.refuses = None
        assert sends.append([RECORD]).result(DEADLINE_S) == [LANDED]
        assert not picky.closed.is_set()


def test_what_is_not_acknowledged_in_time_says_that_kafka_is_away_unless_something_else_was() -> None:
    silent = Producer(settles=False)
    with sending(silent, Producer(), topics=[TOPIC]) as sends:
        first, second = sends.append([RECORD]), sends.append([RECORD])
        silent.acknowledge(silent.unsettled[0])
        silent.unsettled[1].failure(KafkaTimeoutError())
        assert first.result(DEADLINE_S) == [LANDED]
        assert second.exception(DEADLINE_S) is not None
        assert is_connected(sends)  # the first was acknowledged meanwhile
        assert not silent.closed.is_set()
        third = sends.append([RECORD])
        silent.unsettled[2].failure(KafkaTimeoutError())
        assert third.exception(DEADLINE_S) is not None
        until(lambda: is_connected(sends) and silent.closed.is_set(), every_s=0.005)
        assert sends.append([RECORD]).result(DEADLINE_S) == [LANDED]


def test_where_nothing_listens_any_more_nobody_waits() -> None:
    gone = threading.Event()

    def connect() -> KafkaProducer:
        if gone.is_set():
            raise KafkaTimeoutError
        return cast("KafkaProducer", Producer())

    sends = Sending(connect, AppendQueue(), TopicNames("reef."), DEADLINE_S, is_gone=gone.is_set, retry_s=0.02)
    assert sends.append([RECORD]).result(DEADLINE_S) == [LANDED]
    gone.set()
    until(lambda: not is_connected(sends), every_s=0.005)
    assert sends.problem in (AWAY, NOT_CONNECTED)
    with pytest.raises(LogError) as told:
        sends.append([RECORD]).result(DEADLINE_S)
    assert told.value.is_retriable
    gone.clear()
    until(lambda: is_connected(sends), every_s=0.005)
    assert sends.append([RECORD]).result(DEADLINE_S) == [LANDED]
    sends.close()


def test_threads_that_append_at_once_are_all_served_and_an_append_that_was_given_up_is_not_sent() -> None:
    gate, producer = threading.Event(), Producer()

    def connect() -> KafkaProducer:
        assert gate.wait(DEADLINE_S)
        return cast("KafkaProducer", producer)

    sends = Sending(connect, AppendQueue(), TopicNames("reef."), DEADLINE_S)
    appended = [sends.append([RECORD]) for _ in range(3)]
    assert appended[1].cancel()
    gate.set()
    wait(appended, DEADLINE_S)
    assert len(producer.sent) == 2
    threads = [threading.Thread(target=lambda: sends.append([RECORD]).result(DEADLINE_S)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(DEADLINE_S)
    assert len(producer.sent) == 10
    sends.close()
    with pytest.raises(LogError, match="the log is closed"):
        sends.append([RECORD]).result(0)
