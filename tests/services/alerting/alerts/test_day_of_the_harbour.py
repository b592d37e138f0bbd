"""A day of the demo through fusion's core and alerting: nobody is told, until something is wrong in the harbour."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest

from coincide import Histogram
from coincide.fusion.records.kafka_records import InputRecord
from coincide.wire.declarations.sensor_record import Particulars
from deploy.host.machine import ROOT
from services.alerting.queries.edits import load_queries
from services.common.settings import load_streams
from services.demo import sn1987a
from services.demo.harbour import APART_S, AREA, STREAM, reports
from services.ingest.registry.sensors import NO_PARTICULARS
from services.ingest.registry.sensors_file import load_sensors
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put, started
from tests.examples import examples
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    TOPICS,
    Database,
    change_record,
    record,
    sensor_record,
)

pytestmark = pytest.mark.slow

HOUR_S, STEP_S = 3_600, 60
BEGINS_S, ENDS_S = 2 * HOUR_S, 5 * HOUR_S  # of each fault
DAY_H = 8
QUIET_DAY_H = max(DAY_H, examples(24))  # without a fault all of a day is dear
START_S = RECEIVED_AT_MS / 1000
SHARED = load_streams(ROOT / "config/streams.yaml")
QUERIES = load_queries(ROOT / "config/queries.yaml", SHARED)
SENSORS = load_sensors(ROOT / "config/sensors.yaml", SHARED)
TEMPLATES: dict[str, Histogram] = {id_: each.streams[STREAM] for id_, each in SENSORS.items() if each.area == AREA}
RUN_AT_S = HOUR_S, 6 * HOUR_S  # each time that somebody runs the demo

Heard = tuple[float, float, str, str]
"""When ingest received it, when it was detected, by which sensor and on which stream; seconds of the day."""


def day(hours: int) -> Iterator[Heard]:
    """What `make demo` posts: the detections of 1987, the same at every run, and what the microphones hear."""
    for at_s in RUN_AT_S:
        for line in b"".join((*sn1987a.posts().values(), sn1987a.bursts())).splitlines():
            posted = json.loads(line)
            detected_s = datetime.fromisoformat(posted["detected_at"]).timestamp()
            yield at_s, detected_s - START_S, posted["sensor"], posted["stream"]
    yield from _harbour(hours)


def _harbour(hours: int) -> Iterator[Heard]:
    dice, at_s = random.Random(1987), 0.0
    while at_s < hours * HOUR_S:
        for reported_s, sensor in reports(at_s, TEMPLATES, dice):
            yield reported_s, reported_s, sensor, STREAM
        at_s += dice.uniform(*APART_S)


@dataclass(frozen=True)
class Fault:
    """What goes wrong for three hours, and the alert that it is to make."""

    happens: Callable[[Heard], Heard | None]
    source: str | None
    sensor: str | None = None

    def between(self, heard: Heard) -> Heard | None:
        return self.happens(heard) if BEGINS_S <= heard[1] < ENDS_S else heard


def of(sensor: str, change: Callable[[Heard], Heard | None]) -> Callable[[Heard], Heard | None]:
    return lambda heard: change(heard) if heard[2] == sensor else heard


FAULTS = {
    "none": Fault(lambda heard: heard, None),
    "a cable is cut": Fault(of("mic-1", lambda heard: None), "sensor_silent", "mic-1"),
    "the gateway is off": Fault(lambda heard: None, "area_silent"),
    "the radio holds reports back": Fault(
        of("mic-2", lambda heard: (heard[0] + 90, *heard[1:])), "sensor_late", "mic-2"
    ),
    "the clock on the crane is wrong": Fault(
        of("mic-2", lambda heard: (heard[0], heard[1] + 1.0, *heard[2:])), "template_drift", "mic-2"
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_only_what_is_wrong_rings_and_it_ends(name: str, database: Database) -> None:
    fault, hours = FAULTS[name], QUIET_DAY_H if name == "none" else DAY_H
    heard = sorted(each for each in map(fault.between, day(hours)) if each is not None)
    conditions = database.conditions.sensors
    conditions.heard.replace([])
    declared = {AREA: Particulars(expect_every_s=10 * 60)}
    conditions.registered.replace(
        [
            [
                sensor_record(id_, each.area, "", declared.get(each.area, NO_PARTICULARS), **each.streams)
                for id_, each in SENSORS.items()
            ]
        ]
    )
    database.store([change_record(each.id, 1, query=each.to_json()) for each in QUERIES])
    core = started(*(put(nth, each.to_json()) for nth, each in enumerate(QUERIES)), streams=SHARED)
    at, offset = 0, 1
    for now_s in range(STEP_S, hours * HOUR_S, STEP_S):
        batch: list[InputRecord] = []
        while at < len(heard) and heard[at][0] < now_s:
            received_s, detected_s, sensor, stream = heard[at]
            area, template = SENSORS[sensor].area, SENSORS[sensor].streams[stream]
            row = Row(f"{sensor}-{stream}-{detected_s}", START_S + detected_s, template, stream, sensor)
            batch.append(frame(offset, [row], area, received_at_s=START_S + received_s))
            at, offset = at + 1, offset + 1
        batch.append(heartbeat(offset, START_S + now_s))
        offset += 1
        database.now_us = round((START_S + now_s) * 1e6)
        database.conditions.note_end(offset)
        output, now_ms = core.push(batch), database.now_us // 1000
        told = output.health.values()
        conditions.heard.apply([record("coincide.sensor-health", each.value, key=each.key) for each in told])
        database.store([record(TOPICS.dead_letters, each.value, timestamp=now_ms) for each in output.dead_letters])
        database.store([record(TOPICS.status, output.status.value, key=output.status.key, timestamp=now_ms)])
        database.sweep()
    assert database.rows("dead_letters") >= 24  # the detections of 1987 are late when they are posted again
    rang = database.alerts()
    assert {(each["source"], each["labels"].get("sensor"), each["state"]) for each in rang} == (
        {(fault.source, fault.sensor, "resolved")} if fault.source else set()
    )
    for each in rang:
        assert BEGINS_S < each["fired_at_us"] / 1e6 - START_S < ENDS_S
        assert database.history(each["id"]) == ["firing", "resolved"]
