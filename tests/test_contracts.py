"""docs/contracts says what our own code writes: every record is made by the code that makes it in earnest."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry as Schemas
from referencing import Resource

from coincide import Histogram, Stream, Window
from coincide.queries import Query
from services.alerting.kafka.query_publisher import encode
from services.alerting.kafka.records import QueryChange
from services.common.instants import system_clock_us
from services.ingest.kafka.frames import heartbeat
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.snapshot import Registry
from spark_jobs.core.fusion_core import FusionCore
from spark_jobs.core.limits import Limits
from spark_jobs.records.kafka_records import InputRecord
from tests.reference.fused import assert_occurred
from tests.services.ingest.building import Ingest, KeepingPublisher

CONTRACTS = Path(__file__).resolve().parents[1] / "docs" / "contracts"
TOPICS = ("detections", "queries", "sensors", "matches", "dead-letters", "status")
STREAMS = {name: Stream(name, max_delay_s=120.0, longest_template_s=60.0) for name in ("seismic", "acoustic")}
QUERY = {
    "id": "intruder",
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}],
}
VALLEY = {
    "id": "valley",
    "from": {"s": "seismic", "a": "acoustic", "b": "acoustic"},
    "within": [{"window_s": 2.0, "threshold": 0.5}],
    "form": "clique",
    "joint_threshold": 0.1,
    "at_least": 2,
    "sensors": "any",
}
SAME_OBJECT = {**VALLEY, "id": "same", "form": "path", "equal": "attributes.object"}
del SAME_OBJECT["at_least"]
NOON_US = 1_700_000_000_000_000
SENSORS = {
    "geophone": Sensor("geophone", "bay", {"seismic": Histogram.normal(sigma_s=0.2, buckets=4)}),
    "hydrophone": Sensor("hydrophone", "bay", {"acoustic": Histogram.point()}),
}


def detection(sensor: str, at_us: int, **more: object) -> dict[str, object]:
    return {"sensor": sensor, "detected_at": at_us, **more}


def post(*items: object) -> KeepingPublisher:
    """POST to the real application; return what it published."""
    registry = Registry(STREAMS)
    registry.replace(SENSORS)
    ingest = Ingest(registry=registry, clock_us=system_clock_us)
    ingest.post_items(*items)
    return ingest.publisher


@pytest.fixture(scope="module")
def records() -> dict[str, list[bytes]]:
    """Records of every topic."""
    sent = post(
        detection("geophone", NOON_US, attributes={"depth_m": 3}),
        detection("hydrophone", NOON_US + 300_000, id="h1", uncertainty={"sigma_s": 0.5}),
        detection("hydrophone", NOON_US + 400_000, id="h2"),
        detection("hydrophone", NOON_US + 600_000_000),
        detection("nobody", NOON_US),
        detection("geophone", 12),
        {"sensor": 7},
        "no object",
    )
    late = post(detection("geophone", NOON_US, id="late"))
    queries = [Query.from_json(query) for query in (QUERY, VALLEY, SAME_OBJECT)]
    changes = [
        *(QueryChange(1, query.id, 1, NOON_US, paused=False, query=query.to_json()) for query in queries),
        QueryChange(1, "gone", 2, NOON_US, removed=True),
    ]
    inputs = [InputRecord("queries", 0, i, each.id.encode(), encode(each)) for i, each in enumerate(changes)]
    detections = [*(frame.value for frame in (*sent.frames, *late.frames)), heartbeat(NOON_US)]
    values = [*detections, b"{no json", b'{"v":1}']
    inputs += [InputRecord("detections", 0, i, None, value) for i, value in enumerate(values)]
    core = FusionCore(STREAMS, Limits(), 0)
    before = core.push([]).status.value
    output = core.push(inputs)
    return {
        "detections": detections,
        "queries": [encode(each) for each in changes],
        "sensors": [sensor.to_record() for sensor in SENSORS.values()],
        "matches": [each.value for each in output.matches],
        "dead-letters": [
            *(json.dumps(letter).encode() for _, letter in sent.dead_letters),
            *(each.value for each in output.dead_letters),
        ],
        "status": [before, output.status.value],
    }


def validator(name: str) -> Draft202012Validator:
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in CONTRACTS.glob("*.schema.json")}
    found: Schemas[Any] = Schemas().with_resources((k, Resource.from_contents(v)) for k, v in schemas.items())
    return Draft202012Validator(schemas[f"{name}.schema.json"], registry=found)


@pytest.mark.parametrize("path", sorted(CONTRACTS.glob("*.schema.json")), ids=lambda path: path.name)
def test_every_schema_is_one_and_is_described(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert schema["description"]


def test_the_example_of_a_match_is_one_and_its_figures_are_right() -> None:
    [example] = json.loads((CONTRACTS / "matches.schema.json").read_text(encoding="utf-8"))["examples"]
    assert [error.message for error in validator("matches").iter_errors(example)] == []
    templates = [Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2)]
    assert_occurred(example, {template.id: template for template in templates}, Window(10))


@pytest.mark.parametrize("topic", TOPICS)
def test_what_the_code_writes_validates(topic: str, records: dict[str, list[bytes]]) -> None:
    assert records[topic], f"the scenario above makes no record of {topic}"
    for value in records[topic]:
        assert [error.message for error in validator(topic).iter_errors(json.loads(value))] == [], value


def test_the_scenario_has_every_kind_of_dead_letter_worth_having(records: dict[str, list[bytes]]) -> None:
    reasons = {(letter["source"], letter["reason"]) for letter in map(json.loads, records["dead-letters"])}
    wanted = {("fusion", "late"), ("fusion", "malformed_frame"), ("ingest", "unknown_sensor"), ("ingest", "wrong_type")}
    assert wanted <= reasons


@pytest.mark.parametrize(
    "change", [{"received_at_us": None}, {"heartbeat": False}, {"v": 2}, {"area": "bay"}, {"detections": []}], ids=str
)
def test_what_is_no_heartbeat_is_refused(change: dict[str, Any], records: dict[str, list[bytes]]) -> None:
    heartbeat = json.loads(records["detections"][-1])
    assert validator("detections").is_valid(heartbeat)
    assert not validator("detections").is_valid({**heartbeat, **change})


@pytest.mark.parametrize("query", [QUERY, VALLEY, SAME_OBJECT])
def test_a_query_validates_as_it_is_written_by_hand(query: dict[str, Any]) -> None:
    assert [error.message for error in validator("query").iter_errors(query)] == []


def test_the_scenario_has_matches_of_two_and_three_members_and_one_that_supersedes(
    records: dict[str, list[bytes]],
) -> None:
    found = [json.loads(value) for value in records["matches"]]
    of_two = [match for match in found if match["query"] == "intruder"]
    assert {len(match["members"]) for match in found} == {2, 3}
    assert of_two
    assert not any({"edges", "supersedes"} & match.keys() for match in of_two)
    assert any(match.get("supersedes") for match in found)


Spoil = Callable[[dict[str, Any]], object]
SPOILED: dict[str, dict[str, Spoil]] = {
    "detections": {
        "another format version": lambda r: r.update(v=2),
        "no detection": lambda r: r.update(detections=[]),
        "too many detections": lambda r: r.update(detections=r["detections"] * 501),
        "a misspelt member": lambda r: r["detections"][0].update(detected_at=1),
        "seconds as a fraction": lambda r: r["detections"][0].update(detected_at_us=1.5),
        "a template without its mass": lambda r: next(iter(r["templates"].values())).pop("mass"),
        "a template by another name": lambda r: r["templates"].update(mine=next(iter(r["templates"].values()))),
        "more than 64 bits": lambda r: r.update(received_at_us=2**63),
    },
    "queries": {
        "version 0": lambda r: r.update(version=0),
        "removed and yet there": lambda r: r.update(removed=True),
        "no query": lambda r: r.pop("query"),
        "a threshold of 0": lambda r: r["query"]["within"][0].update(threshold=0),
        "two kinds of window": lambda r: r["query"]["within"][0].update(lo_s=-1, hi_s=1),
        "half a window": lambda r: (r["query"]["within"][0].pop("window_s"), r["query"]["within"][0].update(lo_s=1)),
        "seventeen roles": lambda r: r["query"]["from"].update({f"r{n}": "seismic" for n in range(15)}),
        "no threshold at all": lambda r: r["query"]["within"][0].pop("threshold"),
        "an edge between nothing": lambda r: r["query"]["within"][0].pop("between"),
        "one edge for all of any graph": lambda r: (
            r["query"].update(form="graph"),
            r["query"]["within"][0].pop("between"),
        ),
        "a form that is none": lambda r: r["query"].update(form="ring"),
        "one of so many": lambda r: r["query"].update(at_least=1),
        "an attribute by another name": lambda r: r["query"].update(equal="object"),
        "a gap that is none": lambda r: r["query"].update(coalesce={"gap_s": -1}),
        "a label of nothing": lambda r: r["query"].update(coalesce={"gap_s": 1, "by": ["sensor"]}),
    },
    "sensors": {
        "no stream": lambda r: r.update(streams={}),
        "no area": lambda r: r.pop("area"),
        "an edge that is a text": lambda r: next(iter(r["streams"].values()))["edges_s"].append("x"),
    },
    "matches": {
        "one member": lambda r: r["members"].pop(),
        "more than certain": lambda r: r.update(probability=1.1),
        "an id of another kind": lambda r: r.update(id="h-" + "0" * 32),
        "a member without a sensor": lambda r: r["members"][0].pop("sensor"),
        "half an occurrence": lambda r: r.update(occurred={"mean_us": 1}),
        "edges and nothing superseded": lambda r: r.update(edges=[{"between": ["s", "a"], "probability": 0.5}]),
        "an impossible edge": lambda r: r.update(supersedes=[], edges=[{"between": ["s", "a"], "probability": 0}]),
        "superseding itself by name": lambda r: r.update(
            supersedes=["intruder"], edges=[{"between": ["s", "a"], "probability": 1}]
        ),
    },
    "dead-letters": {
        "another source": lambda r: r.update(source="gateway"),
        "late by nothing": lambda r: r.update(reason="late", late_by_us=None),
        "no reason": lambda r: r.pop("reason"),
        "unknown instead of null": lambda r: r.pop("area"),
    },
    "status": {
        "counts below zero": lambda r: r["totals"].update(late=-1),
        "a count left out": lambda r: r["totals"].pop("evicted"),
        "a clock": lambda r: r.update(at_us=1),
    },
}
CASES = [(topic, what) for topic, spoiled in SPOILED.items() for what in spoiled]


@pytest.mark.parametrize(("topic", "what"), CASES, ids=[f"{topic}: {what}" for topic, what in CASES])
def test_what_is_wrong_is_refused(topic: str, what: str, records: dict[str, list[bytes]]) -> None:
    record = copy.deepcopy(json.loads(records[topic][0]))
    SPOILED[topic][what](record)
    assert not validator(topic).is_valid(record)


def test_every_topic_has_a_contract() -> None:
    assert {f"{topic}.schema.json" for topic in TOPICS} <= {path.name for path in CONTRACTS.iterdir()}
