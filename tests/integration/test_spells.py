"""Spells from REST to REST: a query is put, readings come through Kafka and Spark, and each spell is told once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.local.machine import wait_until
from spark_jobs.records.kafka_records import InputRecord
from tests.integration.fusion_process import START_S, FusionProcess, fusion_job
from tests.integration.service_process import AlertingProcess, running_alerting
from tests.integration.topics import running_broker
from tests.integration.webhook_sink import SECRET, Sink, running_sink
from tests.spark_jobs.inputs import Row, frame

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]

EVERY_S = 10
DEADLINE_S = 120
KEPT_S = 9 * 365 * 86_400  # the readings are of 2023
STREAMS = "streams: {temperature: {max_delay_s: 30}}"
COALESCE = {"from": "temperature", "value": "attributes.celsius", "where": {"above": 40}}
HOT = {"coalesce": COALESCE, "lasting_s": 60, "alert": {"severity": "critical", "title": "Too hot in {area}"}}

Line = tuple[FusionProcess, AlertingProcess]


@pytest.fixture
def sink() -> Iterator[Sink]:
    with running_sink() as sink:
        yield sink


@pytest.fixture
def line(tmp_path: Path, sink: Sink) -> Iterator[Line]:
    streams, receivers = tmp_path / "streams.yaml", tmp_path / "receivers.yaml"
    streams.write_text(STREAMS)
    receivers.write_text(yaml.safe_dump({"receivers": {"ops": {"webhook": {"url": sink.url, "secret": SECRET}}}}))
    common = {"streams_path": str(streams)}
    own = {"queries_path": None, "receivers_path": str(receivers), "matches_kept_s": KEPT_S, "deliver_within_s": KEPT_S}
    with (
        running_broker(tmp_path / "kafka") as broker,
        fusion_job(broker.bootstrap, "coincide.", tmp_path, **common) as fusion,
        running_alerting(broker.bootstrap, tmp_path, **common, **own) as alerting,
    ):
        alerting.wait_for("/readyz", 200)
        fusion.start_and_wait()
        yield fusion, alerting


def readings(begin: int, end: int, celsius: dict[range, Any], area: str = "house") -> list[InputRecord]:
    """A reading every 10 s of a minute's number, 20 degrees where nothing else is said; one in four is 20 s late."""
    rows = []
    for at_s in range(begin * 60, end * 60, EVERY_S):
        value = next((value for when, value in celsius.items() if at_s in when), 20)
        attributes = (("celsius", value),)
        late_s = 20 if at_s % 40 == 0 else 0
        row = Row(f"{area}-{at_s}", START_S + at_s, stream="temperature", sensor="hall", attributes=attributes)
        rows.append((at_s + late_s, row))
    rows.sort(key=lambda each: each[0])
    return [frame(0, [row], area, received_at_s=START_S + at_s + 1) for at_s, row in rows]


def minutes(begin: float, end: float) -> range:
    return range(round(begin * 60), round(end * 60))


def spells(alerting: AlertingProcess) -> list[tuple[float, float, str]]:
    """Return each episode there is: from which minute to which, and whether it goes on."""
    return sorted(
        (
            (each["start_us"] / 1e6 - START_S) / 60,
            (each["end_us"] / 1e6 - START_S) / 60,
            "open" if each["open"] else "final" if each["final"] else "closed",
        )
        for each in alerting.items("/v1/episodes", query="hot")
        if not each.get("retracted")
    )


def rung(sink: Sink) -> dict[float, list[str]]:
    """Return what was told of each spell, by the minute in which it began."""
    told: dict[float, list[str]] = {}
    for event in sink.events:
        if event["data"]["kind"] == "episode":
            minute = (event["data"]["start_us"] / 1e6 - START_S) / 60
            told.setdefault(minute, []).append(event["type"].rpartition(".")[2])
    return told


def is_applied(alerting: AlertingProcess, version: int) -> bool:
    return bool(alerting.get("/v1/queries/hot")["applied_version"] == version)


def wait_for(line: Line, condition: Callable[[], bool]) -> None:
    fusion, alerting = line
    assert wait_until(condition, DEADLINE_S, every_s=0.5), (spells(alerting), fusion.tail(10))


def test_each_spell_is_one_episode_though_fusion_is_killed_in_one_and_the_limit_changes(line: Line, sink: Sink) -> None:
    fusion, alerting = line
    assert alerting.call("PUT", "/v1/queries/hot", json=HOT, headers={"If-None-Match": "*"}).status_code == 201
    wait_for(line, lambda: is_applied(alerting, 1))
    told = {minutes(2, 9): 45, minutes(10, 10.5): 60, minutes(12, 13.5): "broken", minutes(15, 99): 42}
    first = readings(0, 22, told)
    fusion.send("detections", first)
    wait_for(line, lambda: [each[::2] for each in spells(alerting)] == [(2.0, "final"), (15.0, "open")])
    wait_for(line, lambda: rung(sink) == {2.0: ["firing", "resolved"], 15.0: ["firing"]})
    [opened] = [each for each in alerting.items("/v1/episodes", query="hot") if each["open"]]

    fusion.kill()
    fusion.start_and_wait()
    fusion.send("detections", first[-30:])  # once more
    fusion.send("detections", readings(22, 26, {minutes(22, 23): 42}))
    wait_for(line, lambda: spells(alerting) == [(2.0, 9.0, "final"), (15.0, 23.0, "final")])
    [ended] = [each for each in alerting.items("/v1/episodes", query="hot") if each["start_us"] == opened["start_us"]]
    assert ended["id"] == opened["id"]
    assert (ended["count"], ended["best_probability"]) == (48, 1.0)
    wait_for(line, lambda: rung(sink) == {minute: ["firing", "resolved"] for minute in (2.0, 15.0)})
    assert sink.events[-1]["data"]["members"] == 48

    warmer = {"coalesce": {"where": {"above": 50}}}
    assert alerting.call("PATCH", "/v1/queries/hot", json=warmer, headers={"If-Match": "*"}).status_code == 200
    wait_for(line, lambda: is_applied(alerting, 2))
    fusion.send("detections", readings(26, 40, {minutes(27, 30): 45, minutes(31, 34): 55}))
    wait_for(line, lambda: spells(alerting)[2:] == [(31.0, 34.0, "final")])
    wait_for(line, lambda: rung(sink) == {minute: ["firing", "resolved"] for minute in (2.0, 15.0, 31.0)})
    assert len(set(sink.tried)) == len(sink.tried)
    assert {each["data"]["title"] for each in sink.events if each["data"]["kind"] == "episode"} == {"Too hot in house"}
    assert len(alerting.items("/v1/dead-letters", reason="no_number")) == 9
    assert fusion.metric("coincide_fusion_no_number_total") == 9
