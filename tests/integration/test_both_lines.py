"""Spark itself tells of the real morning what the line in one process tells, record by record."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from deploy.local.broker import Broker
from tests.acceptance import italy
from tests.integration.fusion_process import FusionProcess, fusion_job
from tests.reference import central_italy
from tests.services.line import morning
from tests.services.line.fused_logs import append, wait_until_taken
from tests.services.line.hosts import ANSWERS, assert_same, one_process, told_in

pytestmark = [pytest.mark.jvm, pytest.mark.night]

JUDGED = ("accepted", "late")


@pytest.fixture
def fusion(kafka: Broker, tmp_path: Path) -> Iterator[FusionProcess]:
    streams = tmp_path / "streams.yaml"
    streams.write_text(yaml.safe_dump({"streams": italy.STREAMS}), encoding="utf-8")
    with fusion_job(kafka.bootstrap, "both-lines.", tmp_path, streams_path=str(streams), quiet_s=None) as job:
        job.start_and_wait()
        yield job


def rows_in(record: InputRecord) -> int:
    return len(json.loads(record.value or b"")["detections"]["id"]) if record.topic == "detections" else 0


def test_the_real_morning(fusion: FusionProcess, tmp_path: Path) -> None:
    """It is killed once; queries and a template change, and some detections come too late."""
    if reason := central_italy.why_absent():
        pytest.skip(reason)
    pushes, _ = morning.pushes(random.Random(5))
    judged = 0

    def counted(what: str) -> float:
        return fusion.metric(f"coincide_fusion_{what}_total") or 0.0

    (tmp_path / "line").mkdir()
    with one_process(tmp_path / "line", 100, ["before", "after"], morning.STREAMS, Limits()) as (log, thread):
        for nth, push in enumerate(pushes):
            append(log, push)
            wait_until_taken(log, thread)
            judged += sum(
                len(json.loads(each.value or b"")["detections"]["id"]) for each in push if each.topic == "detections"
            )
            for topic in ("queries", "detections"):
                fusion.send(topic, [each for each in push if each.topic == topic])
            if nth == 1:
                fusion.kill()
                fusion.start_and_wait()
            fusion.until(lambda: sum(map(counted, JUDGED)) == judged)  # noqa: B023
        assert_same(told_in(log), {topic: fusion.read_all(topic) for topic in ANSWERS})
