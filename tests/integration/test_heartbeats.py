"""Heartbeats through real Kafka and Spark: every partition gets them, and silent areas' watermarks move on by them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coincide import Histogram, Stream
from coincide.fusion.records.kafka_records import InputRecord
from deploy.local.broker import Broker
from services.ingest.registry.seed import seed
from services.ingest.registry.sensors import Sensor
from tests.integration.fusion_process import FusionProcess, fusion_job
from tests.integration.service_process import running_ingest
from tests.integration.topics import records_of
from tests.reference.fusion import SlowFusion
from tests.reference.silence import SlowSilence

pytestmark = pytest.mark.jvm

QUIET_S = 2
SHARDS = 2
START_US = 1_700_000_000_000_000
SENSORS = {f"geo-{n}": Sensor(f"geo-{n}", f"area-{n}", {"seismic": Histogram.uniform(-2, 1)}) for n in range(8)}


PREFIX = "silent."


@pytest.fixture
def job(kafka: Broker, tmp_path: Path) -> Iterator[FusionProcess]:
    with fusion_job(kafka.bootstrap, PREFIX, tmp_path, quiet_s=QUIET_S, shards=SHARDS) as job:
        seed(kafka.connection, SENSORS, prune=False, dry_run=False, prefix=PREFIX)
        yield job


def statuses(job: FusionProcess) -> dict[int, dict[str, Any]]:
    return {status["shard"]: status for status in job.read_all("status")}


def has_read(job: FusionProcess, records: list[Any]) -> bool:
    totals = [status["totals"] for status in statuses(job).values()]
    return bool(sum(each["frames"] + each["heartbeats"] for each in totals) == len(records))


def by_the_definition(records: list[Any]) -> dict[int, dict[str, int]]:
    """Return the least and the greatest watermark of each shard."""
    slow = SlowFusion({"seismic": Stream("seismic")}, silence=SlowSilence(QUIET_S * 1_000_000))
    shard_of: dict[str, int] = {}
    for record in sorted(records, key=lambda record: (record.partition, record.offset)):
        content = json.dumps(record.value).encode()
        slow.push([InputRecord("detections", record.partition, record.offset, record.key, content)])
        shard_of[record.value.get("area", "")] = record.partition % SHARDS
    return {
        shard: {"least": min(reached), "greatest": max(reached)}
        for shard in range(SHARDS)
        if (reached := [us for area, us in slow.watermark_us.items() if shard_of[area] == shard])
    }


def test_each_partition_gets_heartbeats_and_silent_areas_are_moved_on(job: FusionProcess, tmp_path: Path) -> None:
    with running_ingest(job.bootstrap, tmp_path, heartbeat_s=1, topic_prefix=PREFIX) as ingest:
        ingest.wait_for("/readyz", 200)
        items = [{"sensor": sensor, "detected_at": START_US} for sensor in SENSORS]
        assert ingest.post(items).status_code == 202  # one into each area, and from then on nothing
        job.start_and_wait()
        job.until(lambda: has_been_moved(job))
        assert ingest.stop() == 0
    records = records_of(job.bootstrap, PREFIX + "detections")
    heartbeats = [record for record in records if record.value.get("heartbeat")]
    assert {record.partition for record in heartbeats} == set(range(8))
    assert {record.key for record in heartbeats} == {None}
    assert all(record.timestamp == record.value["received_at_us"] // 1000 for record in heartbeats)
    job.until(lambda: has_read(job, records))
    assert {shard: each["watermark_us"] for shard, each in statuses(job).items()} == by_the_definition(records)
    job.until(lambda: job.metric("coincide_fusion_heartbeats_total") == len(heartbeats))
    assert job.read_all("dead-letters") == []


def has_been_moved(job: FusionProcess) -> bool:
    """Whether every shard has been moved on from the one detection that each of its areas has had."""
    marks = [status["watermark_us"]["least"] for status in statuses(job).values()]
    return len(marks) == SHARDS and all(mark is not None and mark > START_US + 5_000_000 for mark in marks)
