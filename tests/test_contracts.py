"""docs/contracts says what our own code writes and alerting reads: the code itself makes every record."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml
from jsonschema import Draft202012Validator
from msgspec import structs
from prometheus_client import CollectorRegistry
from referencing import Registry as Schemas
from referencing import Resource

from coincide import Histogram, Stream, Window
from coincide.arrays.kinds import FloatArray
from coincide.evidence import posterior_of
from coincide.fusion.batches.activations import PushedOffsets
from coincide.fusion.batches.live_shard import deferral_record
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.learning import Calibration, Errors, Learning, SensorStream, SharedPart, calibrate, drift_of
from coincide.queries import AnyQuery, Query, query_from_json
from coincide.wire.declarations.clock_record import ClockParticulars
from coincide.wire.declarations.query_record import QueryRecord, put_record
from coincide.wire.declarations.sensor_record import Particulars
from coincide.wire.declarations.stream_records import StreamRecord
from coincide.wire.declarations.template_proposal import proposal_of
from coincide.wire.last_change import LastChange
from coincide.wire.results.evidence_record import EvidenceRecord
from coincide.wire.sensor_health import health_in
from services.alerting.following.sorting import sort_records
from services.alerting.metrics import Metrics
from services.common.access.access_keys import KEYS
from services.common.access.audit import AuditTrail
from services.common.access.caller import NOBODY, Caller
from services.common.clock import system_clock_us
from services.history.archiving.frame_rows import FrameRows
from services.ingest.publishing.frame import heartbeat
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.registered_clocks import RegisteredClock
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.snapshot import Registry
from tests.coincide.fusion.inputs import Row, frame, put, started
from tests.reference.frames import rows_of
from tests.reference.fused import assert_occurred
from tests.services.alerting.sample_records import NAMES, record, state_of
from tests.services.alerting.sample_records import TOPICS as ALERTING
from tests.services.ingest.building import Ingest, KeepingPublisher
from tests.services.kept_records import KeptRecords

CONTRACTS = Path(__file__).resolve().parents[1] / "docs" / "contracts"
EPISODE, RETRACTION = json.loads((CONTRACTS / "episodes.schema.json").read_text(encoding="utf-8"))["examples"]
EVIDENCE, NO_EVIDENCE = json.loads((CONTRACTS / "evidence.schema.json").read_text(encoding="utf-8"))["examples"]
TOPICS = (
    "episodes",
    "detections",
    "queries",
    "sensors",
    "templates",
    "clocks",
    "matches",
    "dead-letters",
    "status",
    "sensor-health",
)
STREAMS = {name: Stream(name, max_delay_s=120.0, longest_template_s=60.0) for name in ("seismic", "acoustic")}
QUERY = {
    "id": "intruder",
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}],
}
WIDE = {
    "from": {"s": "seismic", "a": "acoustic", "b": "acoustic"},
    "within": [{"window_s": 2.0, "threshold": 0.5}],
    "joint_threshold": 0.1,
    "sensors": "any",
}
VALLEY = {**WIDE, "id": "valley", "form": "clique", "at_least": 2}
HEARD = {**VALLEY, "id": "heard", "at_least": {"of": ["a", "b"], "count": 1}}
SAME_OBJECT = {**WIDE, "id": "same", "form": "path", "equal": "attributes.object"}
NARROW = {**QUERY, "id": "narrow", "limits": {"max_matches_per_s": 1}}
RINGS = {**QUERY, "id": "rings", "alert": {"severity": [[0.9, "critical"]], "title": "{area}", "to": ["ops"]}}
HAND_WRITTEN = (QUERY, VALLEY, HEARD, SAME_OBJECT, NARROW, RINGS)
NOON_US = 1_700_000_000_000_000
SENSORS = {
    "geophone": Sensor("geophone", "bay", {"seismic": Histogram.normal(sigma_s=0.2, buckets=4)}),
    "hydrophone": Sensor(
        "hydrophone",
        "bay",
        {"acoustic": Histogram.point()},
        Particulars(model="H-2", place={"lat": 47.5, "lon": -3.1}, labels={"owner": "harbour"}, expect_every_s=60.0),
        LastChange(3, NOON_US, "seed"),
        {"acoustic": "exact"},
    ),
}


TEMPLATES = (
    NamedTemplate("exact", Histogram.point()),
    NamedTemplate("clock", Histogram.uniform(-2, 1), LastChange(3, NOON_US, "seed")),
)


GATEWAY = Histogram.uniform(-30, 30)
CLOCKS = (
    RegisteredClock("gw-7", GATEWAY),
    RegisteredClock("gw-8", GATEWAY, ClockParticulars(label="pier"), LastChange(3, NOON_US, "me")),
)
SENSORS["vector"] = Sensor("vector", "quay", {"acoustic": CLOCKS[0].clock.template(Histogram.point())})


SILENCE = {"v": 1, "id": "s-1", "matchers": {"area": "b*"}, "from_us": NOON_US, "until_us": NOON_US + 1}
SILENCE |= {"by": "ann", "why": "drill", "created_at_us": NOON_US}
RECEIVER = {"v": 1, "receiver": {"webhook": {"url": "https://example.org"}, "system": False}}
DELIVERY = {"v": 1, "receiver": "ops", "key": "n-" + "0" * 32, "state": "dead", "at_us": NOON_US}
DELIVERY |= {"attempts": 3, "reason": "it answered 410"}


def detection(sensor: str, at_us: int, **more: object) -> dict[str, object]:
    return {"sensor": sensor, "detected_at": at_us, **more}


def test_keys_and_audited_changes_are_as_the_contracts_say() -> None:
    records = KeptRecords()
    text = records.make("gateway", ["ingest"], areas=["bay*"])
    [(id_, value)] = records.topics[KEYS]
    assert faults("keys", json.loads(value or b"")) == []
    assert text.encode() not in (value or b"")
    audit = AuditTrail("ingest", records)
    audit.note(Caller("0" * 12, "me", "127.0.0.1"), "key.made", id_.decode(), None, {"name": "gateway"})
    audit.note(NOBODY, "query.changed", "q", {"threshold": 0.5}, {"threshold": 0.6})
    assert [faults("audit", each) for each in records.changes] == [[], []]
    key, change = json.loads(value or b""), records.changes[0]
    assert faults("audit", {name: each for name, each in change.items() if name != "why"}) == []  # as old ones are
    of_keys: list[dict[str, object]] = [
        {"id": "G" * 12},
        {"name": "a/b"},
        {"scopes": ["root"]},
        {"areas": []},
        {"v": 2},
    ]
    of_audit: list[dict[str, object]] = [{"action": "made"}, {"name": None}, {"more": 1}, {"at_us": "now"}]
    assert [wrong for wrong in of_keys if not faults("keys", {**key, **wrong})] == []
    assert [wrong for wrong in of_audit if not faults("audit", {**change, **wrong})] == []


@pytest.mark.parametrize(
    ("topic", "record", "wrong"),
    [
        ("alert-controls", SILENCE, {"matchers": {}}),
        ("alert-controls", SILENCE, {"by": ""}),
        ("alert-controls", {**SILENCE, "version": 3, "changed_at_us": NOON_US, "changed_by": "me"}, {"version": -1}),
        ("alert-controls", RECEIVER, {"receiver": {"webhook": {}}}),
        ("alert-controls", RECEIVER, {"receiver": {"telephone": {}}}),
        ("alert-controls", {**RECEIVER, "version": 1}, {"more": 1}),
        ("deliveries", DELIVERY, {"state": "lost"}),
        ("deliveries", DELIVERY, {"key": "m-" + "0" * 32}),
        ("deliveries", {**DELIVERY, "alert": "a-1", "change": "firing", "revision": 3}, {"change": "fired"}),
        ("deliveries", {"v": 1, "alert": "a-1", "by": "ann", "why": "", "at_us": NOON_US}, {"by": ""}),
    ],
)
def test_what_people_say_of_alerts_is_as_agreed_and_read_also_without_what_is_newer(
    topic: str, record: dict[str, Any], wrong: dict[str, Any]
) -> None:
    assert faults(topic, record) == []
    assert faults(topic, {**record, **wrong}) != []


def post(*items: object) -> KeepingPublisher:
    registry = Registry(STREAMS)
    registry.replace([SENSORS])
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
    queries = [Query.from_json(query) for query in HAND_WRITTEN]
    changes = [put_record(query.id, 1, NOON_US, query.to_json()) for query in queries]
    changes.append(QueryRecord(id="gone", version=2, changed_at_us=NOON_US, removed=True))
    inputs = [InputRecord("queries", 0, i, each.key, each.to_record()) for i, each in enumerate(changes)]
    detections = [*(frame.value for frame in (*sent.frames, *late.frames)), heartbeat(NOON_US)]
    values = [*detections, b"{no json", b'{"v":1}']
    inputs += [InputRecord("detections", 0, i, None, value) for i, value in enumerate(values)]
    core = FusionCore(STREAMS, Limits(), 0)
    before, output = core.push([]).status.value, core.push(inputs)
    letters = [json.dumps(letter).encode() for _, letter in sent.dead_letters]
    return {
        "detections": detections,
        "queries": [each.to_record() for each in changes],
        "sensors": [sensor.to_record() for sensor in SENSORS.values()],
        "templates": [template.to_record() for template in TEMPLATES],
        "clocks": [clock.to_record() for clock in CLOCKS],
        "matches": [each.value for each in output.matches],
        "dead-letters": letters + [each.value for each in output.dead_letters],
        "status": [before, output.status.value],
        "sensor-health": [each.value for each in output.health.values() if each.value],
        "episodes": [json.dumps(each).encode() for each in (EPISODE, RETRACTION)],
    }


@cache
def validator(name: str) -> Draft202012Validator:
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in CONTRACTS.glob("*.schema.json")}
    known: Schemas[Any] = Schemas().with_resources((k, Resource.from_contents(v)) for k, v in schemas.items())
    return Draft202012Validator(schemas[f"{name}.schema.json"], registry=known)


def faults(name: str, value: object) -> list[str]:
    return [error.message for error in validator(name).iter_errors(value)]


@pytest.mark.parametrize("path", sorted(CONTRACTS.glob("*.schema.json")), ids=lambda path: path.name)
def test_every_schema_is_one_and_is_described(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert schema["description"]


@pytest.mark.parametrize("service", ["ingest", "alerting"])
def test_requests_have_names_that_programs_can_use(service: str) -> None:
    document = json.loads((CONTRACTS / f"{service}.openapi.json").read_text(encoding="utf-8"))
    named = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(set(named)) == len(named) > 15
    assert [each for each in named if not re.fullmatch("[a-z]+([A-Z][a-z]*)*", each)] == []


def test_the_asyncapi_document_has_every_topic_and_what_it_refers_to_is_there() -> None:
    document = json.loads((CONTRACTS / "asyncapi.json").read_text(encoding="utf-8"))
    declared = yaml.safe_load((CONTRACTS.parents[1] / "config/topics.yaml").read_text(encoding="utf-8"))["topics"]
    assert set(document["channels"]) == {*declared, "live"}
    references = re.findall(r'"\$ref": "([^"#]+)(?:#/components/schemas/(\w+))?"', json.dumps(document))
    assert len(references) > len(declared)
    for file, component in references:
        found = json.loads((CONTRACTS / file).read_text(encoding="utf-8"))
        assert not component or component in found["components"]["schemas"]


def test_what_a_batch_leaves_is_told_as_agreed() -> None:
    left = [InputRecord("detections", 3, 7, b"bay", b"{}")]
    assert faults("deferrals", json.loads(deferral_record(0, left).value)) == []


def test_activations_are_told_as_agreed(records: dict[str, list[bytes]]) -> None:
    waiting = [InputRecord("queries", 0, nth, b"", value) for nth, value in enumerate(records["queries"])]
    told = list(PushedOffsets({3: 7}).records(0, waiting))
    assert len(told) == len(waiting)
    [example] = json.loads((CONTRACTS / "activations.schema.json").read_text(encoding="utf-8"))["examples"]
    values = [example, *(json.loads(each.value) for each in told)]
    assert [faults("activations", value) for value in values] == [[]] * len(values)


def test_rows_of_the_archive_are_as_agreed(records: dict[str, list[bytes]]) -> None:
    frames = FrameRows()
    for offset, value in enumerate(records["detections"]):
        frames.add(InputRecord("detections", 0, offset, None, value))
    table, templates = frames.take()
    assert len(table) > 3
    assert [faults("archive", row) for row in table.to_pylist()] == [[]] * len(table)
    assert [faults("histogram", template) for template in templates.values()] == [[]] * len(templates)
    schema = json.loads((CONTRACTS / "archive.schema.json").read_text(encoding="utf-8"))
    assert list(schema["properties"]) == table.schema.names
    assert [faults("archive", example) for example in schema["examples"]] == [[]]


def test_the_example_of_a_match_is_one_and_its_figures_are_right() -> None:
    [example] = json.loads((CONTRACTS / "matches.schema.json").read_text(encoding="utf-8"))["examples"]
    assert faults("matches", example) == []
    templates = [Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2)]
    assert_occurred(example, {template.id: template for template in templates}, Window(10))


def test_the_examples_of_evidence_are_read_as_written_and_their_figures_are_right() -> None:
    for example in (EVIDENCE, NO_EVIDENCE):
        assert faults("evidence", example) == []
        assert json.loads(msgspec.json.encode(msgspec.json.decode(json.dumps(example), type=EvidenceRecord))) == example
    assert sum(term["bits"] for term in EVIDENCE["terms"]) == pytest.approx(EVIDENCE["bits"])
    assert EVIDENCE["posterior"] == pytest.approx(posterior_of(EVIDENCE["bits"]), abs=1e-4)
    assert {each["belongs"] for each in EVIDENCE["members"]} == {EVIDENCE["posterior"]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"posterior_least": None},
        {"posterior": None},
        {"bits": None},
        {"unknown": "too_much_work"},
        {"rates": "guessed"},
        {"posterior": 1.1},
        {"terms": [{"kind": "times", "sentence": "So it is."}]},
        {"members": [{"sensor": "imb", "id": "imb-1"}]},
    ],
    ids=str,
)
def test_evidence_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    assert faults("evidence", {**EVIDENCE, **wrong})
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps({**EVIDENCE, **wrong}), type=EvidenceRecord)


def test_a_term_of_a_newer_kind_is_not_as_agreed_and_is_read() -> None:
    newer = {**EVIDENCE, "terms": [{"kind": "luck", "bits": 1.0, "sentence": "So it is."}]}
    assert faults("evidence", newer)
    assert json.loads(msgspec.json.encode(msgspec.json.decode(json.dumps(newer), type=EvidenceRecord))) == newer


def test_the_example_of_sensors_health_is_one_and_its_figures_are_right() -> None:
    [example] = json.loads((CONTRACTS / "sensor-health.schema.json").read_text(encoding="utf-8"))["examples"]
    assert faults("sensor-health", example) == []
    assert json.loads(health_in(json.dumps(example).encode()).to_record()) == example
    [told] = [each["drift"] for each in example["sensors"] if each["drift"]]
    drift = drift_of(told["levels"])
    assert drift is not None
    assert (drift.errors, round(drift.distance, 6)) == (told["errors"], told["distance"])
    assert drift.p_value == pytest.approx(told["p_value"], rel=1e-5)
    figures = drift.spread, drift.spread_p_value
    assert figures == pytest.approx((told["spread"], told["spread_p_value"]), rel=1e-5)


def test_a_proposal_is_written_as_agreed() -> None:
    calibration = calibrated(np.linspace(-2, -1, 200))
    proposal = proposal_of(calibration, NOON_US)
    assert proposal is not None
    others, kept = (SensorStream("geophone-2", "seismic"),), Histogram.uniform(-1, 1)
    shared = proposal_of(replace(calibration, shared=SharedPart(None, others, 0.9, 40, kept, kept)), NOON_US)
    assert shared is not None
    for each in (proposal, shared, structs.replace(proposal, state="accepted", decided_at_us=NOON_US)):
        assert faults("template-proposals", json.loads(each.to_record())) == []


def calibrated(errors_s: FloatArray) -> Calibration:
    rows, of = np.arange(len(errors_s)), SensorStream("geophone", "seismic")
    present = {of: Histogram.uniform(-3, 0)}
    learning = Learning(Window(10), present=present)
    [calibration] = calibrate({of: Errors(np.random.default_rng(1).permutation(errors_s), rows, rows, 0, 0)}, learning)
    return calibration


def test_streams_are_declared_and_removed_as_agreed() -> None:
    declared = StreamRecord(
        v=1, stream="door", version=2, changed_at_us=NOON_US, changed_by="me", max_delay_s=0, longest_template_s=1
    )
    removed = StreamRecord(v=1, stream="door", version=3, removed=True)
    assert [faults("queries", json.loads(each.to_record())) for each in (declared, removed)] == [[], []]
    for wrong in ({"max_delay_s": -1}, {"removed": True}, {"stream": ""}, {"version": 0}):
        assert faults("queries", {**json.loads(declared.to_record()), **wrong})


@pytest.mark.parametrize("topic", TOPICS)
def test_what_the_code_writes_validates(topic: str, records: dict[str, list[bytes]]) -> None:
    assert records[topic], f"the scenario above makes no record of {topic}"
    for value in records[topic]:
        assert faults(topic, json.loads(value)) == [], value


def test_the_examples_of_detections_are_a_frame_and_a_heartbeat_as_ingest_writes_them() -> None:
    frame, beat = json.loads((CONTRACTS / "detections.schema.json").read_text(encoding="utf-8"))["examples"]
    assert [faults("detections", example) for example in (frame, beat)] == [[], []]
    assert json.loads(heartbeat(beat["received_at_us"])) == beat
    said = ("sensor", "stream", "id", "attributes")
    items = [{**{name: each[name] for name in said}, "detected_at": each["detected_at_us"]} for each in rows_of(frame)]
    template = Histogram.from_json(frame["templates"][frame["stamps"][0]["template"]])
    registry = Registry(STREAMS)
    registry.replace([{each["sensor"]: Sensor(each["sensor"], "quay", {"seismic": template}) for each in items}])
    ingest = Ingest(registry=registry, clock_us=lambda: frame["received_at_us"])
    assert ingest.post_items(*items).status_code == 202
    assert [json.loads(each.value) for each in ingest.publisher.frames] == [frame]


def test_a_match_of_three_with_its_chance_rate_validates() -> None:
    query = {**WIDE, "id": "three", "form": "clique", "from": {"a": "p", "b": "p", "c": "s"}}
    unsure = Histogram.uniform(-1, 1)
    core = started(put(0, query))
    core.push([frame(nth, [Row(f"{nth}", at_s)]) for nth, at_s in enumerate((1.0, 61.0))])
    core.push([frame(2, [Row("2", 62.0, stream="s"), Row("3", 125.0)])])
    rows = [Row("p0", 130.0, unsure), Row("p1", 130.5, unsure), Row("s0", 131.0, unsure, "s")]
    [match] = map(json.loads, (each.value for each in core.push([frame(3, rows)]).matches))
    assert 0 < match["chance_rate_error_hz"] < 0.5 * match["chance_rate_hz"]
    assert faults("matches", match) == []


def test_the_scenario_has_every_kind_of_dead_letter_worth_having(records: dict[str, list[bytes]]) -> None:
    reasons = {(letter["source"], letter["reason"]) for letter in map(json.loads, records["dead-letters"])}
    wanted = {("fusion", "late"), ("fusion", "malformed_frame"), ("ingest", "unknown_sensor"), ("ingest", "wrong_type")}
    assert wanted <= reasons


@pytest.mark.parametrize(
    "change", [{"received_at_us": None}, {"heartbeat": False}, {"v": 1}, {"area": "bay"}, {"detections": []}], ids=str
)
def test_what_is_no_heartbeat_is_refused(change: dict[str, Any], records: dict[str, list[bytes]]) -> None:
    heartbeat = json.loads(records["detections"][-1])
    assert validator("detections").is_valid(heartbeat)
    assert not validator("detections").is_valid({**heartbeat, **change})


def test_queries_validate_as_they_are_written_by_hand() -> None:
    assert [faults("query", query) for query in HAND_WRITTEN] == [[]] * len(HAND_WRITTEN)


def test_the_scenario_has_matches_of_two_and_three_members(records: dict[str, list[bytes]]) -> None:
    found = [json.loads(value) for value in records["matches"]]
    of_two = [match for match in found if match["query"] == "intruder"]
    assert of_two
    assert {len(match["members"]) for match in found} == {2, 3}
    assert not any({"edges", "supersedes"} & match.keys() for match in of_two)
    assert any(match.get("supersedes") for match in found)


def test_the_scenario_has_a_suspended_query(records: dict[str, list[bytes]]) -> None:
    assert json.loads(records["status"][-1])["queries"]["narrow"]["suspended"]["bay"]["limit"] == "max_matches_per_s"


Spoil = Callable[[dict[str, Any]], object]
LOOSE = {"window_s": 2, "threshold": 1}
EDGE = {"between": ["s", "a"], "probability": 1}
JOINT = {"probability": 0.5, "least": 0.4, "greatest": 0.6, "certain": False}
SPOILED: dict[str, dict[str, Spoil]] = {
    "sensor-health": {
        "another format version": lambda r: r.update(v=2),
        "no area": lambda r: r.pop("area"),
        "a part before the first": lambda r: r.update(part=-1),
        "nobody": lambda r: r.update(sensors=[]),
        "more late than came": lambda r: r["sensors"][0].update(late_share=1.5),
        "a sensor that was never seen": lambda r: r["sensors"][0].update(last_seen_us=None),
        "a drift of nothing": lambda r: r["sensors"][0].update(drift={}),
    },
    "episodes": {
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
    },
    "detections": {
        "the format of rows": lambda r: r.update(v=1),
        "no detection": lambda r: r["detections"].update(stamp=[], detected_at_us=[], id=[]),
        "too many detections": lambda r: r["detections"].update(id=["x"] * 501),
        "a misspelt column": lambda r: r["detections"].update(detected_at=r["detections"].pop("detected_at_us")),
        "seconds as a fraction": lambda r: r["detections"]["detected_at_us"].append(1.5),
        "attributes of nothing": lambda r: r["detections"].update(attributes=[None]),
        "a stamp before the first": lambda r: r["detections"]["stamp"].append(-1),
        "a stamp without its stream": lambda r: r["stamps"][0].pop("stream"),
        "a stamp with an area": lambda r: r["stamps"][0].update(area="bay"),
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
        "one edge for all of any graph": lambda r: r["query"].update(form="graph", within=[LOOSE]),
        "a form that is none": lambda r: r["query"].update(form="ring"),
        "one of so many": lambda r: r["query"].update(at_least=1),
        "so many of nobody": lambda r: r["query"].update(at_least={"of": [], "count": 1}),
        "some of these": lambda r: r["query"].update(at_least={"of": ["a"]}),
        "an attribute by another name": lambda r: r["query"].update(equal="object"),
        "a gap that is none": lambda r: r["query"].update(coalesce={"gap_s": -1}),
        "an alert of no title": lambda r: r["query"].update(alert={"title": ""}),
        "an alert for nobody": lambda r: r["query"].update(alert={"to": []}),
        "a severity of no name": lambda r: r["query"].update(alert={"severity": [[0.5]]}),
        "no room for any match": lambda r: r["query"].update(limits={"max_matches_per_s": 0}),
        "a label of nothing": lambda r: r["query"].update(coalesce={"gap_s": 1, "by": ["sensor"]}),
    },
    "sensors": {
        "no stream": lambda r: r.update(streams={}),
        "no area": lambda r: r.pop("area"),
        "an edge that is a text": lambda r: next(iter(r["streams"].values()))["edges_s"].append("x"),
    },
    "templates": {
        "another format version": lambda r: r.update(v=2),
        "no name": lambda r: r.pop("template"),
        "no histogram": lambda r: r.pop("histogram"),
        "a histogram without its mass": lambda r: r["histogram"].pop("mass"),
        "a form in place of it": lambda r: r.update(histogram={"point": True}),
    },
    "matches": {
        "one member": lambda r: r["members"].pop(),
        "more than certain": lambda r: r.update(probability=1.1),
        "an id of another kind": lambda r: r.update(id="h-" + "0" * 32),
        "a member without a sensor": lambda r: r["members"][0].pop("sensor"),
        "a reason that nobody knows": lambda r: r.update(unknown={"occurred": "laziness"}),
        "unknown and no reason": lambda r: r.update(unknown={}),
        "half an occurrence": lambda r: r.update(occurred={"mean_us": 1}),
        "edges and nothing superseded": lambda r: r.update(edges=[EDGE], joint=JOINT),
        "edges and no joint probability": lambda r: r.update(supersedes=[], edges=[EDGE]),
        "an impossible edge": lambda r: r.update(supersedes=[], joint=JOINT, edges=[{**EDGE, "probability": 0}]),
        "bounds of nothing": lambda r: r.update(supersedes=[], edges=[EDGE], joint={**JOINT, "probability": None}),
        "superseding itself by name": lambda r: r.update(supersedes=["intruder"], edges=[EDGE], joint=JOINT),
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
    value = json.loads(records[topic][0])
    SPOILED[topic][what](value)
    assert not validator(topic).is_valid(value)


def read(value: dict[str, Any]) -> Any:
    """Return the one episode that alerting makes of a record."""
    [episode] = sort_records([record(ALERTING.episodes, value)], Metrics(CollectorRegistry()), NAMES).episodes
    return episode


@pytest.mark.parametrize(
    "more",
    [
        *({}, {"open": False}, {"open": False, "final": True}, {"retracted": False}, {"revision": 0}),
        *({"group": {}}, {"members_truncated": True}),
        {"best_probability": None, "value": 101.5, "window": {"start_us": 1, "end_us": 2}},
    ],
)
def test_an_episode_is_one_and_alerting_reads_it(more: dict[str, Any]) -> None:
    assert faults("episodes", {**EPISODE, **more}) == []
    episode = read({**EPISODE, **more})
    assert episode.received_at_us == EPISODE["received_at_us"]
    assert json.loads(episode.body) == {**EPISODE, **more}


@pytest.mark.parametrize("more", [{}, {"replaced_by": []}, {"start_us": 1, "end_us": 2, "received_at_us": 3}])
def test_a_retraction_is_one_and_alerting_reads_it(more: dict[str, Any]) -> None:
    assert faults("episodes", {**RETRACTION, **more}) == []
    retraction = read({**RETRACTION, **more})
    assert retraction.record.retracted
    assert json.loads(retraction.body) == {**RETRACTION, **more}


def answered(query: AnyQuery, posts: list[KeepingPublisher]) -> list[dict[str, Any]]:
    """Return the episodes that the job writes for a query and posts; every status record validates, too."""
    change = put_record(query.id, 1, NOON_US, query.to_json()).to_record()
    core, written = FusionCore(STREAMS, Limits(), 0), []
    core.push([InputRecord("queries", 0, 0, query.id.encode(), change)])
    for offset, sent in enumerate(posts):
        [frame] = sent.frames
        output = core.push([InputRecord("detections", 0, offset, None, frame.value)])
        assert faults("status", json.loads(output.status.value)) == []
        written += [json.loads(each.value) for each in output.episodes]
    return written


def assert_valid_and_read(written: list[dict[str, Any]]) -> None:
    assert [fault for value in written for fault in faults("episodes", value)] == []
    assert [read(value).body for value in written] == [json.dumps(value) for value in written]


def test_what_the_fusion_job_writes_validates_and_alerting_reads_it() -> None:
    """Two episodes, the match between them that makes one of the two, and an hour later the end."""
    query = Query.from_json({**QUERY, "coalesce": {"gap_s": 5, "by": ["s.sensor"]}})
    times_us = [NOON_US + at_s * 1_000_000 for at_s in (0, 8, 4, 3600)]
    written = answered(query, [post(detection("geophone", us), detection("hydrophone", us)) for us in times_us])
    assert_valid_and_read(written)
    assert {state_of(value) for value in written} >= {"open", "final", "retracted"}


def test_what_is_told_of_a_spell_validates_and_alerting_reads_it() -> None:
    """It opens, a late reading takes it back, it opens again, and an hour later it is final."""
    coalesce = {"from": "seismic", "value": "attributes.celsius", "where": {"above": 40}}
    query = query_from_json({"id": "hot", "coalesce": coalesce, "lasting_s": 60})
    written = answered(
        query,
        [
            post(detection("geophone", NOON_US + at_s * 1_000_000, attributes={"celsius": celsius}))
            for at_s, celsius in ((0, 45), (40, 45), (70, 45), (20, 10), (110, 45), (3600, 10))
        ],
    )
    assert_valid_and_read(written)
    assert [state_of(value) for value in written] == ["open", "retracted", "open", "final"]


@pytest.mark.parametrize("question", [{"longest": True}, {"join": {"lasting_s": 1}}])
def test_what_is_said_of_readings_validates_and_alerting_reads_it(question: dict[str, Any]) -> None:
    window = {"time_s": 60, "slide_s": 60}
    coalesce = {"from": "seismic", "by": "attributes.place", "value": "attributes.state", "window": window}
    readings = [
        detection("geophone", NOON_US + at_s * 1_000_000, attributes={"place": place, "state": "open"})
        for at_s, place in ((0, "gate"), (1, "hall"), (3600, "gate"))
    ]
    written = answered(query_from_json({"id": "hot", "coalesce": coalesce, **question}), [post(it) for it in readings])
    assert_valid_and_read(written)
    assert {state_of(value) for value in written} == {"final"}
