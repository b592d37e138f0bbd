import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
from kafka.future import Future
from prometheus_client import CollectorRegistry

from services.ingest.kafka.frames import Frame
from services.ingest.kafka.producer import Completions
from services.ingest.kafka.publisher import KafkaPublisher, PublisherBusyError
from services.ingest.metrics import IngestMetrics

pytestmark = pytest.mark.anyio

FRAME = Frame(b"bay", b"x" * 1000, [0])
DEADLINE_S = 5.0


class Producer:
    """A producer whose records are settled when the test says so."""

    def __init__(self, *, settles: bool = True, refuses: Exception | None = None) -> None:
        self.settles = settles
        self.refuses = refuses
        self.closed = threading.Event()
        self.sent: list[tuple[str, bytes | None, bytes]] = []
        self.partitions: list[int | None] = []
        self.unsettled: list[Future] = []

    def partitions_for(self, topic: str) -> set[int]:
        return {0, 1, 2}

    def send(
        self, topic: str, value: bytes, key: bytes | None, partition: int | None = None, timestamp_ms: int | None = None
    ) -> Future:
        if self.refuses:
            raise self.refuses
        self.sent.append((topic, key, value))
        self.partitions.append(partition)
        future = Future()
        if self.settles:
            future.success(None)
        else:
            self.unsettled.append(future)
        return future

    def close(self, timeout: float) -> None:
        self.closed.set()


class Cluster:
    """Hands out the given producers one after the other; a KafkaError in their place is raised."""

    def __init__(self, *producers: Producer | Exception) -> None:
        self.waiting = list(producers)

    def __call__(self) -> KafkaProducer:
        next_up = self.waiting.pop(0) if self.waiting else KafkaTimeoutError()
        if isinstance(next_up, Exception):
            raise next_up
        return cast("KafkaProducer", next_up)


@asynccontextmanager
async def publishing(*producers: Producer | Exception, **options: Any) -> AsyncIterator[KafkaPublisher]:
    """A publisher that gets these `producers` one after the other; it waits little."""
    chosen = {"timeout_s": 0.0, "most_bytes": 10_000, "grace_s": 0.2, "retry_s": 0.02, **options}
    publisher = KafkaPublisher(Cluster(*producers), IngestMetrics(CollectorRegistry()), **chosen)
    publisher.start()
    try:
        if producers and not isinstance(producers[0], Exception):
            await until(lambda: publisher.connected)
        yield publisher
    finally:
        await asyncio.to_thread(publisher.stop)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - the conditions are set by other threads
            await asyncio.sleep(0.005)


async def test_frames_are_sent_keyed_by_area_and_acknowledged() -> None:
    producer = Producer()
    async with publishing(producer) as publisher:
        assert await publisher.publish([FRAME, FRAME], 5_000) == [True, True]
        assert producer.sent == [("coincide.detections", b"bay", FRAME.value)] * 2
    assert producer.closed.is_set()


async def test_without_kafka_nothing_is_sent_and_it_is_found_when_it_comes() -> None:
    async with publishing(KafkaTimeoutError(), KafkaTimeoutError(), Producer()) as publisher:
        with pytest.raises(PublisherBusyError):
            await publisher.publish([FRAME], 0)
        assert not publisher.send_dead_letter(b"", b"x")
        await until(lambda: publisher.connected)
        assert await publisher.publish([FRAME], 0) == [True]


async def test_one_frame_failing_does_not_fail_its_neighbour() -> None:
    producer = Producer(settles=False)
    async with publishing(producer, timeout_s=DEADLINE_S) as publisher:
        posting = asyncio.create_task(publisher.publish([FRAME, FRAME], 0))
        await until(lambda: len(producer.unsettled) == 2)
        await asyncio.to_thread(producer.unsettled[0].failure, KafkaTimeoutError())  # as Kafka's own thread would
        await asyncio.to_thread(producer.unsettled[1].success, None)
        assert await posting == [False, True]


async def test_a_producer_that_leaves_frames_unsettled_is_replaced() -> None:
    wedged, fresh = Producer(settles=False), Producer()
    async with publishing(wedged, fresh) as publisher:
        assert await publisher.publish([FRAME], 0) == [False]
        await until(lambda: publisher.connected)
        assert await publisher.publish([FRAME], 0) == [True]
        assert wedged.closed.is_set()
        for future in wedged.unsettled:
            future.success(None)  # too late: must disturb nobody
        await asyncio.sleep(0.05)
        assert await publisher.publish([FRAME], 0) == [True]


async def test_a_producer_that_refuses_a_record_is_replaced() -> None:
    async with publishing(Producer(refuses=MessageSizeTooLargeError()), Producer()) as publisher:
        assert await publisher.publish([FRAME], 0) == [False]
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


async def test_what_goes_everywhere_is_sent_without_a_key_to_each_partition() -> None:
    producer = Producer()
    async with publishing(producer) as publisher:
        assert await publisher.publish_everywhere(b"beat", 5_000)
        assert producer.sent == [("coincide.detections", None, b"beat")] * 3
        assert producer.partitions == [0, 1, 2]


async def test_what_goes_everywhere_takes_no_room_from_frames() -> None:
    producer = Producer(settles=False)
    async with publishing(producer, most_bytes=1999, timeout_s=DEADLINE_S) as publisher:
        beating = asyncio.create_task(publisher.publish_everywhere(b"beat", 0))
        await until(lambda: len(producer.unsettled) == 3)
        producer.settles = True
        assert await publisher.publish([FRAME] * 2, 0) == [True, True]  # 2000 bytes: only as the first in flight
        for future in producer.unsettled[:2]:
            future.success(None)
        producer.unsettled[2].failure(KafkaTimeoutError())
        assert not await beating


async def test_nothing_goes_everywhere_while_kafka_is_away() -> None:
    async with publishing() as publisher:
        with pytest.raises(PublisherBusyError, match="Kafka is away"):
            await publisher.publish_everywhere(b"beat", 0)


async def test_dead_letters_in_flight_are_capped_and_given_back() -> None:
    producer = Producer(settles=False)
    async with publishing(producer, most_dead_letter_bytes=10) as publisher:
        assert publisher.send_dead_letter(b"", b"12345678")
        assert not publisher.send_dead_letter(b"", b"12345678")
        producer.unsettled[0].failure(KafkaTimeoutError())
        await until(lambda: publisher.send_dead_letter(b"", b"12345678"))


async def test_a_burst_of_completions_shares_one_wake_up() -> None:
    loop = asyncio.get_running_loop()
    completions, done, wake_ups = Completions(loop), [], []
    call_soon_threadsafe = loop.call_soon_threadsafe

    def counted(*arguments: Any) -> Any:
        wake_ups.append(1)
        return call_soon_threadsafe(*arguments)

    loop.call_soon_threadsafe = counted  # type: ignore[method-assign, assignment]
    for n in range(100):
        completions.put(lambda n=n: done.append(n))  # type: ignore[misc]
    await until(lambda: len(done) == 100)
    assert done == list(range(100))
    assert len(wake_ups) == 1


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
