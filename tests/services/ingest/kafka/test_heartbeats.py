import asyncio
import json
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from services.ingest.kafka.heartbeats import Heartbeats
from services.ingest.metrics import IngestMetrics
from services.ingest.settings import Settings
from spark_jobs.records.kafka_records import InputRecord
from spark_jobs.rows.decoding import heartbeat_us
from tests.services.ingest.building import NOW_US, KeepingPublisher

pytestmark = pytest.mark.anyio


def counted(metrics: IngestMetrics) -> tuple[float | None, float | None]:
    sample = metrics.registry.get_sample_value
    return sample("coincide_ingest_heartbeats_total"), sample("coincide_ingest_heartbeats_failed_total")


async def test_a_beat_says_what_time_it_is_and_fusion_reads_it() -> None:
    publisher, metrics = KeepingPublisher(), IngestMetrics(CollectorRegistry())
    await Heartbeats(publisher, metrics, 5, clock_us=lambda: NOW_US).beat()
    [(value, received_at_us)] = publisher.heartbeats
    assert json.loads(value) == {"v": 1, "heartbeat": True, "received_at_us": NOW_US}
    assert received_at_us == NOW_US
    assert heartbeat_us(InputRecord("detections", 7, 0, None, value)) == NOW_US
    assert counted(metrics) == (1, 0)


@pytest.mark.parametrize("fault", [{"lands": False}, {"busy": "Kafka is away"}])
async def test_a_beat_that_does_not_land_is_counted_and_ends_nothing(fault: dict[str, Any]) -> None:
    publisher, metrics = KeepingPublisher(), IngestMetrics(CollectorRegistry())
    vars(publisher).update(fault)
    heartbeats = Heartbeats(publisher, metrics, 5)
    await heartbeats.beat()
    publisher.lands, publisher.busy = True, None
    await heartbeats.beat()
    assert counted(metrics) == (1, 1)


async def test_while_one_beat_is_not_settled_there_is_no_other() -> None:
    publisher, metrics = KeepingPublisher(), IngestMetrics(CollectorRegistry())
    publisher.settled.clear()
    beating = asyncio.create_task(Heartbeats(publisher, metrics, 0.001).run())
    await asyncio.wait([beating], timeout=0.1)  # time for many
    assert len(publisher.heartbeats) == 1
    publisher.settled.set()
    async with asyncio.timeout(5):
        while len(publisher.heartbeats) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    beating.cancel()
    await asyncio.wait([beating])
    assert beating.cancelled()


@pytest.mark.parametrize("heartbeat_s", [0, -5, 0.01, 61])
def test_the_interval_is_bounded(heartbeat_s: float) -> None:
    with pytest.raises(ValueError, match="heartbeat_s"):
        Settings(heartbeat_s=heartbeat_s)


def test_heartbeats_can_be_switched_off() -> None:
    assert Settings(heartbeat_s=None).heartbeat_s is None
    assert Settings().heartbeat_s == 5
