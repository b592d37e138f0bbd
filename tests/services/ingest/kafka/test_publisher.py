import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast
from unittest.mock import Mock

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
from kafka.future import Future
from prometheus_client import CollectorRegistry

from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.rows.decoding import heartbeat_us
from services.common.topic_names import TopicNames
from services.ingest.kafka.frame import Frame
from services.ingest.kafka.producer import Completions
from services.ingest.kafka.publisher import NOT_CONNECTED, KafkaPublisher, PublisherBusyError
from services.ingest.metrics import IngestMetrics
from tests.services.ingest.building import NOW_US

pytestmark = pytest.mark.anyio

FRAME = Frame(b"bay", b"x" * 1000, [0])
DEADLINE_S = 5.0


class Producer:
    """A producer whose records are settled when the test says so."""

    def __init__(self, *, settles: bool = True, refuses: Exception | None = None, lacks: str = "") -> None:
        self.settles = settles
        self.lacks = lacks
        self.refuses = refuses
        self.closed = threading.Event()
        self.sent: list[tuple[str, bytes | None, bytes, dict[str, int]]] = []
        self.unsettled: list[Future] = []

    def partitions_for(self, topic: str) -> set[int]:
        if topic in self.lacks:
            raise KafkaTimeoutError
        return {0, 1, 2}

    def send(self, topic: str, value: bytes, key: bytes | None, **where_and_when: int) -> Future:
        if self.refuses:
            raise self.refuses
        self.sent.append((topic, key, value, where_and_when))
        future = Future()
        if self.settles:
            future.success(None)
        else:
            self.unsettled.append(future)
        return future

    def close(self, timeout: float) -> None:
        self.closed.set()


@asynccontextmanager
async def publishing(*producers: Producer | Exception, **options: Any) -> AsyncIterator[KafkaPublisher]:
    """A publisher that gets these `producers` one after the other, or the error raised; it waits little."""
    waiting = list(producers)

    def connect() -> KafkaProducer:
        next_up = waiting.pop(0) if waiting else KafkaTimeoutError()
        if isinstance(next_up, Exception):
            raise next_up
        return cast("KafkaProducer", next_up)

    chosen = {"timeout_s": 0.0, "most_bytes": 10_000, "grace_s": 0.2, "retry_s": 0.02, **options}
    publisher = KafkaPublisher(connect, IngestMetrics(CollectorRegistry()), names=TopicNames("reef."), **chosen)
    publisher.start()
    try:
        if not isinstance(producers[0], Exception):
            await until(lambda: publisher.connected)
        yield publisher
    finally:
        await asyncio.to_thread(publisher.stop)


def heartbeats(publisher: KafkaPublisher) -> tuple[float | None, float | None]:
    """Return how many heartbeats landed and how many failed."""
    sample = publisher._metrics.registry.get_sample_value
    return sample("coincide_ingest_heartbeats_total"), sample("coincide_ingest_heartbeats_failed_total")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - the conditions are set by other threads
            await asyncio.sleep(0.005)


async def test_frames_are_sent_keyed_by_area_and_acknowledged() -> None:
    producer = Producer()
    async with publishing(producer) as publisher:
        assert await publisher.publish([FRAME, FRAME], 5_000) == [True, True]
        assert producer.sent == [("reef.detections", b"bay", FRAME.value, {"timestamp_ms": 5})] * 2
    assert producer.closed.is_set()


async def test_without_kafka_nothing_is_sent_and_it_is_found_when_it_comes() -> None:
    async with publishing(KafkaTimeoutError(), KafkaTimeoutError(), Producer()) as publisher:
        with pytest.raises(PublisherBusyError, match="Kafka is away"):
            await publisher.publish([FRAME], 0)
        assert not publisher.send_dead_letter(b"", b"x")
        await publisher.send_heartbeat(0)
        assert heartbeats(publisher) == (0, 1)
        await until(lambda: publisher.connected)
        assert await publisher.publish([FRAME], 0) == [True]
        await publisher.send_heartbeat(0)
        assert heartbeats(publisher) == (1, 1)


async def test_a_topic_that_kafka_does_not_have_is_named_until_it_is_there() -> None:
    lacking = Producer(lacks="reef.detections")
    async with publishing(KafkaTimeoutError()) as publisher:
        assert publisher.problem == NOT_CONNECTED
    async with publishing(KafkaTimeoutError(), *[lacking] * 500) as publisher:
        await until(
            lambda: publisher.problem.startswith(
                "Kafka does not find the topic reef.detections: `python -m services.common.topics --prefix reef.` "
            )
        )
        await until(lacking.closed.is_set)
        lacking.lacks = ""
        await until(lambda: publisher.connected)
        assert publisher.problem == NOT_CONNECTED  # should it be given up


async def test_one_frame_failing_does_not_fail_its_neighbour() -> None:
    producer = Producer(settles=False)
    async with publishing(producer, timeout_s=DEADLINE_S) as publisher:
        posting = asyncio.create_task(publisher.publish([FRAME, FRAME], 0))
        await until(lambda: len(producer.unsettled) == 2)
        await asyncio.to_thread(producer.unsettled[0].failure, KafkaTimeoutError())  # as Kafka's own thread would
        await asyncio.to_thread(producer.unsettled[1].success, None)
        assert await posting == [False, True]


@pytest.mark.parametrize("fault", [{"settles": False}, {"refuses": MessageSizeTooLargeError()}])
async def test_a_producer_that_leaves_a_frame_unsettled_or_refuses_it_is_replaced(fault: dict[str, Any]) -> None:
    broken = Producer(**fault)
    async with publishing(broken, Producer()) as publisher:
        assert await publisher.publish([FRAME], 0) == [False]
        await until(lambda: publisher.connected)
        assert await publisher.publish([FRAME], 0) == [True]
        await until(broken.closed.is_set)
        for future in broken.unsettled:
            future.success(None)  # too late: must disturb nobody
        await asyncio.sleep(0.05)
        assert await publisher.publish([FRAME], 0) == [True]


async def test_what_is_not_acknowledged_in_time_says_that_kafka_is_away_unless_something_else_was() -> None:
    silent = Producer(settles=False)
    async with publishing(silent, Producer(), timeout_s=DEADLINE_S) as publisher:
        first, second = (asyncio.create_task(publisher.publish([FRAME], 0)) for _ in range(2))
        await until(lambda: len(silent.unsettled) == 2)
        silent.unsettled[0].success(None)
        silent.unsettled[1].failure(KafkaTimeoutError())
        assert (await first, await second) == ([True], [False])
        assert publisher.connected  # the first was acknowledged meanwhile
        assert not silent.closed.is_set()
        third = asyncio.create_task(publisher.publish([FRAME], 0))
        await until(lambda: len(silent.unsettled) == 3)
        silent.unsettled[2].failure(KafkaTimeoutError())
        assert await third == [False]
        await until(lambda: publisher.connected and silent.closed.is_set())
        assert await publisher.publish([FRAME], 0) == [True]


async def test_where_nothing_listens_any_more_a_post_does_not_wait() -> None:
    gone = threading.Event()
    silent = Producer(settles=False)
    async with publishing(
        silent, KafkaTimeoutError(), Producer(), timeout_s=DEADLINE_S, is_gone=gone.is_set
    ) as publisher:
        gone.set()
        await until(lambda: not publisher.connected)
        with pytest.raises(PublisherBusyError, match="Kafka is away"):
            await publisher.publish([FRAME], 0)
        gone.clear()
        await until(lambda: publisher.connected)
        assert await publisher.publish([FRAME], 0) == [True]


async def test_bytes_in_flight_are_capped_and_given_back() -> None:
    producer = Producer(settles=False)
    async with publishing(producer, most_bytes=2999, timeout_s=DEADLINE_S) as publisher:
        posting = asyncio.create_task(publisher.publish([FRAME] * 2, 0))
        await until(lambda: len(producer.unsettled) == 2)
        with pytest.raises(PublisherBusyError, match="too many bytes"):
            await publisher.publish([FRAME], 0)
        for future in producer.unsettled:
            future.success(None)
        assert await posting == [True, True]
        producer.settles = True
        assert await publisher.publish([FRAME], 0) == [True]


async def test_a_heartbeat_goes_to_each_partition_without_a_key_and_fusion_reads_it() -> None:
    producer = Producer()
    async with publishing(producer) as publisher:
        await publisher.send_heartbeat(NOW_US)
        assert heartbeats(publisher) == (1, 0)
    value = producer.sent[0][2]
    where_and_when = [{"partition": part, "timestamp_ms": NOW_US // 1000} for part in range(3)]
    assert producer.sent == [("reef.detections", None, value, each) for each in where_and_when]
    assert json.loads(value) == {"v": 2, "heartbeat": True, "received_at_us": NOW_US}
    assert heartbeat_us(InputRecord("detections", 7, 0, None, value)) == NOW_US


async def test_a_heartbeat_takes_no_room_from_frames_and_must_land_in_every_partition() -> None:
    producer = Producer(settles=False)
    async with publishing(producer, most_bytes=1999, timeout_s=DEADLINE_S) as publisher:
        beating = asyncio.create_task(publisher.send_heartbeat(0))
        await until(lambda: len(producer.unsettled) == 3)
        producer.settles = True
        assert await publisher.publish([FRAME] * 2, 0) == [True, True]  # 2000 bytes: only as the first in flight
        for future in producer.unsettled[:2]:
            future.success(None)
        producer.unsettled[2].failure(KafkaTimeoutError())
        await beating
        assert heartbeats(publisher) == (0, 1)


async def test_while_one_heartbeat_is_not_settled_there_is_no_other() -> None:
    producer = Producer(settles=False)
    async with publishing(producer, timeout_s=DEADLINE_S) as publisher:
        beating = asyncio.create_task(publisher.send_heartbeats(0.001))
        await asyncio.wait([beating], timeout=0.1)  # time for many
        assert len(producer.sent) == 3  # partitions
        producer.settles = True
        for future in producer.unsettled:
            future.success(None)
        await until(lambda: len(producer.sent) >= 9)
        beating.cancel()
        await asyncio.wait([beating])
        assert beating.cancelled()


async def test_dead_letters_in_flight_are_capped_and_given_back() -> None:
    producer = Producer(settles=False)
    async with publishing(producer, most_dead_letter_bytes=10) as publisher:
        assert publisher.send_dead_letter(b"", b"12345678")
        assert not publisher.send_dead_letter(b"", b"12345678")
        producer.unsettled[0].failure(MessageSizeTooLargeError())
        await until(lambda: publisher.send_dead_letter(b"", b"12345678"))


def test_a_burst_of_completions_shares_one_wake_up() -> None:
    loop, done = Mock(), []
    completions = Completions(loop)
    for n in range(100):
        completions.put(lambda n=n: done.append(n))  # type: ignore[misc]
    [wake_up] = loop.call_soon_threadsafe.call_args_list
    wake_up.args[0]()
    assert done == list(range(100))


async def test_completions_from_many_threads_are_all_run() -> None:
    completions, done = Completions(asyncio.get_running_loop()), []

    def put_many() -> None:
        for _ in range(2000):
            completions.put(lambda: done.append(1))

    await asyncio.gather(*(asyncio.to_thread(put_many) for _ in range(4)))
    await until(lambda: len(done) == 8000)


def test_completions_after_the_loop_has_closed_are_forgotten() -> None:
    loop = asyncio.new_event_loop()
    completions = Completions(loop)
    loop.close()
    completions.put(lambda: pytest.fail("nobody is there to run this"))
