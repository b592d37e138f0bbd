import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from prometheus_client import CollectorRegistry

from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.rows.decoding import heartbeat_us
from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError, PartlyAppendedError
from services.common.log.records import NewRecord, RecordPosition
from services.common.topics.topic_names import TopicNames
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.completions import Completions
from services.ingest.publishing.frame import Frame
from services.ingest.publishing.publisher import Publisher, PublisherBusyError
from tests.services.ingest.building import NOW_US

pytestmark = pytest.mark.anyio

FRAME = Frame(b"bay", b"x" * 1000, [0])
DEADLINE_S = 5.0
DECLARED = {"reef.detections": Topic(partitions=3), "reef.dead-letters": Topic(partitions=1)}


class HeldLog:
    """A log in a file; while it holds, appends are settled when the test says so."""

    name, option = "the log", ""

    def __init__(self, folder: Path) -> None:
        self._log = LocalLog(folder / "log.sqlite")
        self._log.create_topics(DECLARED)
        self.reader, self.create_topics, self.close = self._log.reader, self._log.create_topics, self._log.close
        self.problem: str | None = None
        self.holds = False
        self.held: list[tuple[Sequence[NewRecord], Future[list[RecordPosition]]]] = []

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        if not self.holds:
            return self._log.append(records)
        self.held.append((records, Future()))
        return self.held[-1][1]

    async def settle(self, index: int, outcome: LogError | None = None) -> None:
        """Settle it as a thread of the log would."""
        records, future = self.held[index]
        if outcome is None:
            positions = [RecordPosition(each.topic, 0, 0) for each in records]
            await asyncio.to_thread(future.set_result, positions)
        else:
            await asyncio.to_thread(future.set_exception, outcome)

    def records(self, topic: str) -> list[tuple[int, bytes | None, bytes | None, int]]:
        with self.reader() as reader:
            partitions = reader.partitions_of(topic)
            reader.read_from(dict.fromkeys(partitions))
            read = [each for some in reader.up_to(reader.ends(partitions)) for each in some]
        return sorted((each.partition, each.key, each.value, each.timestamp_ms) for each in read)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[HeldLog]:
    with closing(HeldLog(tmp_path)) as log:
        yield log


@asynccontextmanager
async def publishing(log: HeldLog, **options: Any) -> AsyncIterator[Publisher]:
    chosen = {"timeout_s": DEADLINE_S, "most_bytes": 10_000, "grace_s": 0.0, **options}
    publisher = Publisher(log, IngestMetrics(CollectorRegistry()), names=TopicNames("reef."), **chosen)
    publisher.start()
    yield publisher


def heartbeats(publisher: Publisher) -> tuple[float | None, float | None]:
    """Return how many heartbeats landed and how many failed."""
    sample = publisher._metrics.registry.get_sample_value
    return sample("coincide_ingest_heartbeats_total"), sample("coincide_ingest_heartbeats_failed_total")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - the conditions are set by other threads
            await asyncio.sleep(0.005)


async def test_frames_are_keyed_by_area_and_in_the_log_when_that_is_told(held: HeldLog) -> None:
    async with publishing(held) as publisher:
        assert await publisher.publish([FRAME, FRAME], 5_000) == [True, True]
        [(partition, *_)] = {each[:2] for each in held.records("reef.detections")}
        assert held.records("reef.detections") == [(partition, b"bay", FRAME.value, 5)] * 2
        assert await publisher.publish_record("dead-letters", b"k", b"any") is True
        assert [each[1:3] for each in held.records("reef.dead-letters")] == [(b"k", b"any")]


async def test_while_the_log_has_a_problem_nothing_is_appended(held: HeldLog) -> None:
    held.problem = "it is on strike"
    async with publishing(held) as publisher:
        assert publisher.problem == "it is on strike"
        with pytest.raises(PublisherBusyError, match="the log is away"):
            await publisher.publish([FRAME], 0)
        assert not publisher.send_dead_letter(b"", b"x")
        await publisher.send_heartbeat(0)
        assert heartbeats(publisher) == (0, 1)
        held.problem = None
        assert await publisher.publish([FRAME], 0) == [True]
        await publisher.send_heartbeat(0)
        assert heartbeats(publisher) == (1, 1)


async def test_each_frame_has_its_own_result(held: HeldLog) -> None:
    held.holds = True
    async with publishing(held) as publisher:
        for fault, expected in (
            (None, [True, True]),
            (LogError("no"), [False, False]),
            (
                PartlyAppendedError("no", [None, RecordPosition("reef.detections", 0, 7)], is_retriable=True),
                [False, True],
            ),
        ):
            posting = asyncio.create_task(publisher.publish([FRAME, FRAME], 0))
            await until(lambda: len(held.held) > 0)
            await held.settle(0, fault)
            assert await posting == expected
            held.held.clear()


async def test_nobody_waits_longer_than_is_said_and_what_waited_is_not_written_later(held: HeldLog) -> None:
    held.holds = True
    async with publishing(held, timeout_s=0.02) as publisher:
        assert await publisher.publish([FRAME, FRAME], 0) == [False, False]
        assert held.held[0][1].cancelled()
        at_work = asyncio.create_task(publisher.publish([FRAME], 0))
        await until(lambda: len(held.held) == 2)
        held.held[1][1].set_running_or_notify_cancel()
        assert await at_work == [False]
        await held.settle(1)  # too late: must disturb nobody
        held.holds = False
        assert await publisher.publish_record("dead-letters", b"k", b"any") is True


async def test_bytes_in_flight_are_capped_and_given_back(held: HeldLog) -> None:
    held.holds = True
    async with publishing(held, most_bytes=2999) as publisher:
        posting = asyncio.create_task(publisher.publish([FRAME] * 2, 0))
        await until(lambda: len(held.held) == 1)
        with pytest.raises(PublisherBusyError, match="too many bytes wait for the log"):
            await publisher.publish([FRAME], 0)
        await held.settle(0)
        assert await posting == [True, True]
        held.holds = False
        assert await publisher.publish([FRAME], 0) == [True]


async def test_a_heartbeat_goes_to_each_partition_without_a_key_and_fusion_reads_it(held: HeldLog) -> None:
    async with publishing(held) as publisher:
        await publisher.send_heartbeat(NOW_US)
        assert heartbeats(publisher) == (1, 0)
    records = held.records("reef.detections")
    value = records[0][2]
    assert value is not None
    assert records == [(partition, None, value, NOW_US // 1000) for partition in range(3)]
    assert json.loads(value) == {"v": 2, "heartbeat": True, "received_at_us": NOW_US}
    assert heartbeat_us(InputRecord("detections", 7, 0, None, value)) == NOW_US


async def test_a_heartbeat_takes_no_room_from_frames_and_must_land_in_every_partition(held: HeldLog) -> None:
    held.holds = True
    async with publishing(held, most_bytes=1999) as publisher:
        beating = asyncio.create_task(publisher.send_heartbeat(0))
        await until(lambda: len(held.held) == 1)
        held.holds = False
        assert await publisher.publish([FRAME] * 2, 0) == [True, True]  # 2000 bytes: only as the first in flight
        landed = RecordPosition("reef.detections", 0, 1)
        await held.settle(0, PartlyAppendedError("no", [landed, landed, None], is_retriable=True))
        await beating
        assert heartbeats(publisher) == (0, 1)


async def test_while_one_heartbeat_is_not_settled_there_is_no_other(held: HeldLog) -> None:
    held.holds = True
    async with publishing(held) as publisher:
        beating = asyncio.create_task(publisher.send_heartbeats(0.001))
        await until(lambda: len(held.held) == 1)
        await asyncio.wait([beating], timeout=0.1)  # time for many
        assert len(held.held) == 1
        await held.settle(0)
        await until(lambda: len(held.held) == 2)
        beating.cancel()
        await asyncio.wait([beating])
        assert beating.cancelled()


async def test_dead_letters_in_flight_are_capped_and_given_back(held: HeldLog) -> None:
    held.holds = True
    async with publishing(held, most_dead_letter_bytes=10) as publisher:
        assert publisher.send_dead_letter(b"", b"12345678")
        assert not publisher.send_dead_letter(b"", b"12345678")
        await held.settle(0, LogError("no"))
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
