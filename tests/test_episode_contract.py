"""docs/contracts says what a record of coincide.episodes is: what it allows alerting reads."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from coincide.queries import Query, query_from_json
from services.alerting.kafka.query_publisher import encode
from services.alerting.kafka.records import QueryChange
from services.alerting.kafka.sorting import sort_records
from services.alerting.metrics import Metrics
from spark_jobs.core.fusion_core import FusionCore
from spark_jobs.core.limits import Limits
from spark_jobs.records.kafka_records import InputRecord
from tests.services.alerting.records import TOPICS, record, state_of
from tests.test_contracts import CONTRACTS, NOON_US, QUERY, STREAMS, detection, post, validator

EPISODE, RETRACTION = json.loads((CONTRACTS / "episodes.schema.json").read_text(encoding="utf-8"))["examples"]


def faults(value: dict[str, Any]) -> list[str]:
    return [error.message for error in validator("episodes").iter_errors(value)]


def faults_of(topic: str, value: dict[str, Any]) -> list[str]:
    return [error.message for error in validator(topic).iter_errors(value)]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"open": False},
        {"open": False, "final": True},
        {"group": {}},
        {"best_probability": None, "value": 101.5, "window": {"start_us": 1, "end_us": 2}},
        {"members_truncated": True},
        {"retracted": False},
        {"revision": 0},
    ],
)
def test_an_episode_is_one_and_alerting_reads_it(more: dict[str, Any]) -> None:
    assert faults({**EPISODE, **more}) == []
    [read] = _read({**EPISODE, **more})
    assert read.received_at_us == EPISODE["received_at_us"]
    assert json.loads(read.body) == {**EPISODE, **more}


@pytest.mark.parametrize("more", [{}, {"replaced_by": []}, {"start_us": 1, "end_us": 2, "received_at_us": 3}])
def test_a_retraction_is_one_and_alerting_reads_it(more: dict[str, Any]) -> None:
    assert faults({**RETRACTION, **more}) == []
    [read] = _read({**RETRACTION, **more})
    assert read.record.retracted
    assert json.loads(read.body) == {**RETRACTION, **more}


Spoil = Callable[[dict[str, Any]], object]
SPOILED: dict[str, Spoil] = {
    "another format version": lambda r: r.update(v=2),
    "an id of another kind": lambda r: r.update(id="m-" + "0" * 32),
    "a revision before the first": lambda r: r.update(revision=-1),
    "no revision": lambda r: r.pop("revision"),
    "an end of no integer": lambda r: r.update(end_us=1.5),
    "less than nothing coalesced": lambda r: r.update(count=-1),
    "more than certain": lambda r: r.update(best_probability=1.1),
    "open and final": lambda r: r.update(final=True),
    "neither open nor not": lambda r: r.pop("open"),
    "too many members": lambda r: r.update(members=r["members"][:1] * 201),
    "a member without a stream": lambda r: r["members"][0].pop("stream"),
    "no group": lambda r: r.pop("group"),
    "a retraction that does not name what took its place": lambda r: r.update(retracted=True),
    "replaced by a match": lambda r: r.update(retracted=True, replaced_by=["m-" + "0" * 32]),
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_wrong_is_refused(what: str) -> None:
    spoiled = copy.deepcopy(EPISODE)
    SPOILED[what](spoiled)
    assert faults(spoiled) != []


def test_what_the_fusion_job_writes_validates_and_alerting_reads_it() -> None:
    """Two episodes, the match between them that makes one of the two, and an hour later the end."""
    query = Query.from_json({**QUERY, "coalesce": {"gap_s": 5, "by": ["s.sensor"]}})
    core = FusionCore(STREAMS, Limits(), 0)
    core.push(
        [
            InputRecord(
                "queries", 0, 0, b"intruder", encode(QueryChange(1, "intruder", 1, NOON_US, query=query.to_json()))
            )
        ]
    )
    written: list[dict[str, Any]] = []
    for offset, at_s in enumerate((0, 8, 4, 3600)):
        at_us = NOON_US + at_s * 1_000_000
        [frame] = post(detection("geophone", at_us), detection("hydrophone", at_us)).frames
        output = core.push([InputRecord("detections", 0, offset, None, frame.value)])
        written += [json.loads(each.value) for each in output.episodes]
    assert [fault for value in written for fault in faults(value)] == []
    assert [read.body for value in written for read in _read(value)] == [json.dumps(value) for value in written]
    assert {state_of(value) for value in written} >= {"open", "final", "retracted"}


@pytest.mark.parametrize("asked", [{"longest": True}, {"join": {"lasting_s": 1}}])
def test_what_is_said_of_readings_validates_and_alerting_reads_it(asked: dict[str, Any]) -> None:
    window = {"time_s": 60, "slide_s": 60}
    coalesce = {"from": "seismic", "by": "attributes.place", "value": "attributes.state", "window": window}
    query = query_from_json({"id": "hot", "coalesce": coalesce, **asked})
    core = FusionCore(STREAMS, Limits(), 0)
    core.push([InputRecord("queries", 0, 0, b"hot", encode(QueryChange(1, "hot", 1, NOON_US, query=query.to_json())))])
    offsets = iter(range(9))
    written: list[dict[str, Any]] = []
    for at_s, place in ((0, "gate"), (1, "hall"), (3600, "gate")):
        attributes = {"place": place, "state": "open"}
        [frame] = post(detection("geophone", NOON_US + at_s * 1_000_000, attributes=attributes)).frames
        output = core.push([InputRecord("detections", 0, next(offsets), None, frame.value)])
        assert faults_of("status", json.loads(output.status.value)) == []
        written += [json.loads(each.value) for each in output.episodes]
    assert written != []
    assert [fault for value in written for fault in faults(value)] == []
    assert [(read.body, state_of(json.loads(read.body))) for value in written for read in _read(value)] == [
        (json.dumps(value), "final") for value in written
    ]


def _read(value: dict[str, Any]) -> Any:
    return sort_records([record(TOPICS.episodes, value)], Metrics(CollectorRegistry())).episodes
