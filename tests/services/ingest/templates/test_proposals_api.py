"""Learnt templates over REST: a sensor's template changes when somebody accepts one, and only then."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from coincide import Histogram
from coincide.clocks import Clock
from coincide.wire.declarations.template_proposal import (
    PROPOSALS,
    OtherSensor,
    SharedForm,
    TemplateForm,
    TemplateProposal,
    proposal_in,
)
from services.common.access.audit import AuditTrail
from services.common.log.faults import LogError
from services.console.rest.documents import PageAnswer
from services.console.rest.sensor_answers import ProposalAnswer
from services.console.rest.services import read_answer
from services.ingest.app import create_app
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.sensors_topic import SENSORS
from services.ingest.settings import IngestSettings
from tests.services.ingest.building import CLOCK, NOW_US, KeepingPublisher, registry_of
from tests.services.kept_records import KeptRecords

LEARNT = Histogram([-0.5, 0.0, 0.25], [0.25, 0.75])


def proposal(sensor: str, stream: str, template: Histogram = LEARNT, **fields: Any) -> TemplateProposal:
    id_ = f"p-{sensor}-{stream}"
    form = TemplateForm(**template.to_json())
    known = {"errors": 100, "pool": "own", "wrong_share": 0.1, "proposed_at_us": NOW_US - 5, **fields}
    return TemplateProposal(id=id_, sensor=sensor, stream=stream, template=form, **known)


@dataclass
class Topics(KeepingPublisher):
    """Keeps what is written, as Kafka would; the registry follows the topic of sensors."""

    proposals: list[TemplateProposal] = field(default_factory=list)
    acknowledged: bool = True
    away: bool = False

    def __post_init__(self) -> None:
        super().__init__()
        self.registry = registry_of()
        self.sensors: list[Sensor] = []
        parts = (IngestSettings(), self.registry, self, IngestMetrics(CollectorRegistry()))
        self.records = KeptRecords()
        audit = AuditTrail("ingest", self.records)
        self.client = TestClient(create_app(*parts, audit=audit, read_proposals=self.read, clock_us=lambda: NOW_US))

    def read(self) -> list[TemplateProposal]:
        if self.away:
            raise LogError("away", is_retriable=True)
        return sorted({each.key: each for each in self.proposals}.values(), key=lambda each: each.key)

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        assert value is not None
        if self.acknowledged and topic == SENSORS:
            sensor = Sensor.from_record(value)
            assert key == sensor.id.encode()
            self.sensors.append(sensor)
            self.registry.apply({sensor.id: sensor})
        elif self.acknowledged:
            assert topic == PROPOSALS
            self.proposals.append(proposal_in(value))
            assert key == self.proposals[-1].key
        return self.acknowledged

    def decide(self, of: str, what: str) -> Any:
        return self.client.post(f"/v1/template-proposals/{of}/{what}")

    def states(self) -> dict[str, str]:
        page = self.client.get("/v1/template-proposals").json()
        return {each["id"]: each["state"] for each in page["items"]}


def test_proposals_are_listed_in_pages_and_by_state() -> None:
    topics = Topics([proposal("both", "seismic"), proposal("both", "acoustic", state="rejected"), proposal("geo", "x")])
    answer = topics.client.get("/v1/template-proposals", params={"limit": 2})
    assert [each.id for each in read_answer(PageAnswer[ProposalAnswer], answer.content, "ingest").items] == [
        "p-both-acoustic",
        "p-both-seismic",
    ]
    first = answer.json()
    assert [each["id"] for each in first["items"]] == ["p-both-acoustic", "p-both-seismic"]
    assert first["items"][0]["edges_s"] == [-0.5, 0.0, 0.25]
    last = topics.client.get("/v1/template-proposals", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [each["id"] for each in last["items"]] == ["p-geo-x"]
    assert last["next_cursor"] is None
    some = topics.client.get("/v1/template-proposals", params={"state": "rejected"}).json()
    assert [each["id"] for each in some["items"]] == ["p-both-acoustic"]
    of_geo = topics.client.get("/v1/template-proposals", params={"sensor": "geo"}).json()
    assert [each["id"] for each in of_geo["items"]] == ["p-geo-x"]


def test_a_page_begins_behind_the_last_one_though_that_was_decided_or_replaced() -> None:
    topics = Topics([proposal(sensor, "seismic") for sensor in ("both", "geo", "north")])
    asked: dict[str, str | int] = {"state": "open", "limit": 1}
    first = topics.client.get("/v1/template-proposals", params=asked).json()
    topics.proposals.append(proposal("both", "seismic", CLOCK, state="rejected"))
    asked["cursor"] = first["next_cursor"]
    assert [each["id"] for each in topics.client.get("/v1/template-proposals", params=asked).json()["items"]] == [
        "p-geo-seismic"
    ]
    for other in ({"state": "rejected"}, {"cursor": "p-geo-seismic"}, {"limit": 1001}, {"after": "x"}):
        assert topics.client.get("/v1/template-proposals", params={**asked, **other}).status_code == 422


def test_an_accepted_template_is_the_sensors_and_no_other_changes() -> None:
    topics = Topics([proposal("both", "seismic"), proposal("both", "acoustic", CLOCK.shift(1))])
    before = {stamp.stream: stamp.template.id for stamp in topics.registry.snapshot.stamps["both"]}
    answer = topics.decide("p-both-seismic", "accept")
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["decided_at_us"]) == ("accepted", NOW_US)
    [sensor] = topics.sensors
    assert (sensor.id, sensor.area) == ("both", "bay")
    assert sensor.streams["seismic"] == LEARNT
    assert sensor.streams["acoustic"].id == before["acoustic"]
    assert topics.decide("p-both-acoustic", "accept").status_code == 200
    assert dict(topics.sensors[-1].streams) == {"seismic": LEARNT, "acoustic": CLOCK.shift(1)}
    assert topics.states() == {"p-both-seismic": "accepted", "p-both-acoustic": "accepted"}


@pytest.mark.parametrize("clock", ["gw-7", "gw-8", None])
def test_what_is_left_on_its_clock_is_accepted_with_the_whole(clock: str | None) -> None:
    """Of another clock than the sensor's, or of none, it is told and no more."""
    own, error = Histogram.uniform(-0.1, 0.1), Histogram.uniform(-30, 30)
    gateway = Clock("gw-7", error).template(Histogram.uniform(-1, 1))
    form, others = TemplateForm(**own.to_json()), [OtherSensor("geo", "seismic")]
    error_form = TemplateForm(**Histogram.uniform(-20, 20).to_json())
    shared = SharedForm(clock=clock, others=others, correlation=0.9, events=40, error=error_form, own=form)
    topics = Topics([proposal("mic", "seismic", Histogram.uniform(-20, 20), shared=shared)])
    topics.registry.apply({"mic": Sensor("mic", "bay", {"seismic": gateway}, names={"seismic": "coarse"})})
    answer = topics.decide("p-mic-seismic", "accept")
    assert answer.status_code == 200
    assert (answer.json()["shared"]["clock"], answer.json()["shared"]["own"]) == (clock, own.to_json())
    expected = own if clock == "gw-7" else gateway.own
    [sensor] = topics.sensors
    assert sensor.streams["seismic"] == Clock("gw-7", error).template(expected, Histogram.uniform(-20, 20))
    assert dict(sensor.names) == ({} if clock == "gw-7" else {"seismic": "coarse"})


def test_a_rejected_template_changes_nothing() -> None:
    topics = Topics([proposal("geo", "seismic")])
    assert topics.decide("p-geo-seismic", "reject").json()["state"] == "rejected"
    assert topics.sensors == []
    assert topics.decide("p-geo-seismic", "accept").status_code == 409
    assert topics.sensors == []
    [change] = topics.records.changes
    assert (change["action"], change["subject"], change["before"]["state"]) == (
        "template.rejected",
        "p-geo-seismic",
        "open",
    )


def test_the_same_decision_again_changes_nothing() -> None:
    topics = Topics([proposal("geo", "seismic")])
    answers = [topics.decide("p-geo-seismic", "accept").json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(topics.sensors) == 1


@pytest.mark.parametrize(
    ("of", "status", "why"),
    [
        (proposal("nobody", "seismic"), 409, "no sensor 'nobody'"),
        (proposal("geo", "undeclared"), 409, "not declared"),
        (proposal("geo", "seismic", Histogram.uniform(-100, 0)), 409, "at most 60 s"),
    ],
)
def test_what_does_not_fit_is_refused_and_stays_open(of: TemplateProposal, status: int, why: str) -> None:
    topics = Topics([of])
    answer = topics.decide(of.id, "accept")
    assert (answer.status_code, topics.sensors) == (status, [])
    assert why in answer.json()["detail"]
    assert topics.states() == {of.id: "open"}


def test_an_unknown_or_replaced_proposal_is_not_found() -> None:
    assert Topics([]).decide("p-1", "accept").status_code == 404


def test_without_kafka_nothing_is_decided() -> None:
    topics = Topics([proposal("geo", "seismic")], acknowledged=False)
    assert topics.decide("p-geo-seismic", "accept").status_code == 503
    topics.away = True
    answer = topics.client.get("/v1/template-proposals")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    topics.away, topics.acknowledged = False, True
    assert topics.states() == {"p-geo-seismic": "open"}


def test_records_are_read_as_they_were_written() -> None:
    one = proposal("geo", "seismic", distance=0.05)
    assert proposal_in(one.to_record()) == one
    assert json.loads(one.key) == ["geo", "seismic"]
