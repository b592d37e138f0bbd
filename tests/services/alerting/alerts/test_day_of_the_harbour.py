"""A day of the demo's harbour through fusion's core and alerting: nobody is told, until something is wrong."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from coincide import Histogram
from deploy.local.harbour import APART_S, AREA, BANG, STREAM, reports
from deploy.local.machine import ROOT
from services.alerting.queries.edits import load_queries
from services.common.settings import load_streams
from services.ingest.registry.sensors import Particulars
from services.ingest.registry.sensors_file import load_sensors
from spark_jobs.records.kafka_records import InputRecord
from tests.services.alerting.records import RECEIVED_AT_MS, Database, record, sensor_record
from tests.spark_jobs.inputs import Row, frame, heartbeat, put, started

pytestmark = pytest.mark.slow

HOUR_S, STEP_S = 3_600, 60
BEGINS_S, ENDS_S = 2 * HOUR_S, 5 * HOUR_S  # of each fault
START_S = RECEIVED_AT_MS / 1000
SHARED = load_streams(ROOT / "config/streams.yaml")
MICROPHONES = {
    id_: each for id_, each in load_sensors(ROOT / "config/sensors.yaml", SHARED).items() if each.area == AREA
}
TEMPLATES: dict[str, Histogram] = {id_: each.streams[STREAM] for id_, each in MICROPHONES.items()}

Heard = tuple[float, float, str]
"""When ingest received it, when it was detected, and by which microphone; seconds of the day."""


def day(hours: int) -> Iterator[Heard]:
    """What the microphones hear, as `make demo` plays it."""
    dice, at_s = random.Random(1987), 0.0
    while at_s < hours * HOUR_S:
        for reported_s, sensor in reports(at_s, TEMPLATES, dice):
            yield reported_s, reported_s, sensor
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
        of("mic-2", lambda heard: (heard[0], heard[1] + 1.0, heard[2])), "template_drift", "mic-2"
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_only_what_is_wrong_rings_and_it_ends(name: str, database: Database) -> None:
    fault, hours = FAULTS[name], 24 if name == "none" else 8
    heard = sorted(each for each in map(fault.between, day(hours)) if each is not None)
    conditions = database.conditions.sensors
    conditions.heard.replace([])
    said = Particulars(expect_every_s=10 * 60)
    conditions.registered.replace(
        [[sensor_record(id_, AREA, said=said, noise=each) for id_, each in TEMPLATES.items()]]
    )
    bang = next(each for each in load_queries(ROOT / "config/queries.yaml", SHARED) if each.id == BANG)
    core = started(put(0, bang.to_json()), streams=SHARED)
    at, offset = 0, 1
    for now_s in range(STEP_S, hours * HOUR_S, STEP_S):
        batch: list[InputRecord] = []
        while at < len(heard) and heard[at][0] < now_s:
            received_s, detected_s, sensor = heard[at]
            row = Row(f"{at}", START_S + detected_s, TEMPLATES[sensor], STREAM, sensor)
            batch.append(frame(offset, [row], AREA, received_at_s=START_S + received_s))
            at, offset = at + 1, offset + 1
        batch.append(heartbeat(offset, START_S + now_s))
        offset += 1
        told = core.push(batch).health.values()
        conditions.heard.apply([record("coincide.sensor-health", each.value, key=each.key) for each in told])
        database.now_us = round((START_S + now_s) * 1e6)
        database.conditions.note_status(START_S + now_s)
        database.sweep()
    rang = database.alerts()
    assert {(each["source"], each["labels"].get("sensor"), each["state"]) for each in rang} == (
        {(fault.source, fault.sensor, "resolved")} if fault.source else set()
    )
    for each in rang:
        assert BEGINS_S < each["fired_at_us"] / 1e6 - START_S < ENDS_S
        assert database.history(each["id"]) == ["firing", "resolved"]
