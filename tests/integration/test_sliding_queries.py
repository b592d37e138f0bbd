"""Queries over readings on a real broker: a kill half-way, readings sent twice, and the answers of one straight run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coincide import Stream
from deploy.local.broker import Broker
from spark_jobs.records.kafka_records import InputRecord
from tests.integration.fusion_process import START_S, FusionProcess, fusion_job
from tests.spark_jobs.inputs import Row, frame, put, started

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]

SLIDES = 200  # of a second, with a reading of each of two regions in each
STREAM = Stream("temperature", max_delay_s=5)
WINDOW = {"time_s": 60, "slide_s": 1}
COALESCE = {"from": STREAM.name, "by": "attributes.region", "value": "attributes.celsius", "window": WINDOW}
QUERIES: list[dict[str, Any]] = [
    {"id": "longest", "coalesce": {**COALESCE, "where": {"above": 100}}, "longest": True},
    {"id": "steady", "coalesce": COALESCE, "lasting_s": 20},
    {"id": "alike", "coalesce": COALESCE, "join": {"within": 1, "lasting_s": 4}},
]
CHANGES = [put(offset, query) for offset, query in enumerate(QUERIES)]


def second(number: int) -> InputRecord:
    """Both regions change now and then; the south a little late."""

    def reading(region: str, every: int, late_s: int) -> Row:
        attributes = (("celsius", 99 + number // every % 3), ("region", region))
        at_s = START_S + number - late_s
        return Row(f"{region}-{number}", at_s, stream=STREAM.name, sensor=region, attributes=attributes)

    rows = [reading("north", 25, 0), reading("south", 7, 2)]
    return frame(number, rows, f"area-{number % 2}", received_at_s=START_S + number + 1)


SECONDS = [second(number) for number in range(SLIDES)]


def by_id(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what was written, once; what is written twice is written alike."""
    written: dict[str, dict[str, Any]] = {}
    for record in records:
        assert written.setdefault(record["id"], record) == record
    return written


@pytest.fixture
def job(kafka: Broker, tmp_path: Path) -> Iterator[FusionProcess]:
    streams = tmp_path / "streams.yaml"
    streams.write_text(f"streams: {{{STREAM.name}: {{max_delay_s: {STREAM.max_delay_s}}}}}")
    with fusion_job(kafka.bootstrap, "sliding.", tmp_path, streams_path=str(streams)) as job:
        job.start_and_wait()
        yield job


def test_a_kill_half_way_and_readings_sent_twice_change_no_answer(job: FusionProcess) -> None:
    straight = started(*CHANGES, streams={STREAM.name: STREAM})
    expected = by_id([json.loads(answer.value) for answer in straight.push(SECONDS).episodes])
    assert {answer["query"] for answer in expected.values()} == {"longest", "steady", "alike"}
    job.send("queries", CHANGES)
    for begin in range(0, SLIDES // 2, 20):
        job.send("detections", SECONDS[begin : begin + 20])
    job.until(lambda: len(by_id(job.read_all("episodes"))) > len(expected) // 8, 90)
    job.kill()
    job.start_and_wait()
    job.send("detections", SECONDS[SLIDES // 2 - 5 :])  # some of them once more
    job.until(lambda: len(by_id(job.read_all("episodes"))) >= len(expected), 90)
    assert by_id(job.read_all("episodes")) == expected
    *_, state = job.read_all("status")
    assert state["queries"]["steady"]["coalescing"]["scheme"] in {"eager", "lazy"}
    assert state["queries"]["steady"]["episodes"] == sum(each["query"] == "steady" for each in expected.values())
