"""Every route whose OpenAPI document has a body: what can be read in two ways, or is misspelt, is refused.

The bodies here would be taken if it were not for the fault, so that nothing but the fault is refused.
"""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from coincide import Histogram
from services.common.clock import system_clock_us
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.registered_clocks import RegisteredClock
from tests.services.alerting.api.test_history_proxy import front
from tests.services.alerting.databases import SqliteDatabases, migrated
from tests.services.alerting.sample_records import Database, control_record, query, silence
from tests.services.history.runs.test_run import archive as archive  # noqa: PLC0414 - a fixture
from tests.services.history.runs.test_run_server import client as client  # noqa: PLC0414
from tests.services.history.runs.test_run_server import proposed as proposed  # noqa: PLC0414
from tests.services.history.runs.test_run_server import records as records  # noqa: PLC0414
from tests.services.history.runs.test_run_server import settings as settings  # noqa: PLC0414
from tests.services.ingest.building import NOW_US, Ingest

DETECTION = {"sensor": "geo", "detected_at": NOW_US - 1_000_000}
SENSOR = {"area": "bay", "streams": {"seismic": {"normal": {"sigma_s": 0.5}}}}
RECEIVER = {"webhook": {"url": "https://192.0.2.1/"}}
SILENCE = {"matchers": {"area": "bay"}, "until": system_clock_us() + 3_600_000_000, "by": "ann", "why": "drill"}
RANGE = {"from": 0, "to": 61_000_000}

BODIES: dict[str, dict[str, dict[str, Any]]] = {
    "ingest": {
        "POST /v1/detections": DETECTION,
        "PUT /v1/streams/{name}": {"max_delay_s": 60},
        "PATCH /v1/streams/{name}": {"max_delay_s": 60},
        "PUT /v1/sensors/{sensor_id}": SENSOR,
        "PATCH /v1/sensors/{sensor_id}": {"area": "cove"},
        "POST /v1/sensors": {"sensors": [{"id": "new", **SENSOR}]},
        "PUT /v1/templates/{name}": {"normal": {"sigma_s": 0.5}},
        "PATCH /v1/templates/{name}": {"mass": [0.5, 0.5]},
        "PUT /v1/clocks/{clock_id}": {"error": {"uniform": {"begin_s": -30, "end_s": 30}}},
        "PATCH /v1/clocks/{clock_id}": {"label": "of the barn"},
    },
    "alerting": {
        "PUT /v1/queries/{id}": query(),
        "PATCH /v1/queries/{id}": {"areas": ["bay"]},
        "PATCH /v1/queries/{id}/threshold": {"threshold": 0.5},
        "POST /v1/queries/{id}/explain": query(),
        "POST /v1/queries/{id}/what-if": RANGE,
        "POST /v1/history-runs": {"query": query(), **RANGE},
        "POST /v1/learning-runs": RANGE,
        "POST /v1/silences": SILENCE,
        "PUT /v1/silences/{id}": SILENCE,
        "PATCH /v1/silences/{id}": {"why": "wind"},
        "POST /v1/alerts/{id}/acknowledge": {"by": "ann"},
        "PUT /v1/receivers/{id}": RECEIVER,
        "PATCH /v1/receivers/{id}": {"system": False},
        "POST /v1/keys": {"name": "gateway", "scopes": ["ingest"]},
        "POST /v1/rebuilds": {"why": "drill"},
    },
}
WITHOUT_DOCUMENT = {"POST /v1/history-runs"}  # its body is passed on
NAMES = {"{name}": "acoustic", "{clock_id}": "gw-7", "{sensor_id}": "geo", "{id}": "intruder"}


@pytest.fixture(scope="module")
def engine_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("bodies")
    empty_file = folder / "empty.sqlite3"
    migrated(f"sqlite:///{empty_file}")
    databases = SqliteDatabases(empty_file, folder)
    yield Database(databases.engine())
    databases.close()


@pytest.fixture(scope="module")
def ingest() -> TestClient:
    made = Ingest()
    even = Histogram.uniform(-1, 1)
    template: Any = SimpleNamespace(offset=0, key=b"acoustic", value=NamedTemplate("acoustic", even).to_record())
    clock: Any = SimpleNamespace(offset=0, key=b"gw-7", value=RegisteredClock("gw-7", even).to_record())
    made.registry.templates.replace([[template]])
    made.registry.clocks.replace([[clock]])
    return made.client


def send(door: httpx2.Client, route: str, body: bytes) -> httpx2.Response:
    method, template = route.split()
    path = template
    for name, value in NAMES.items():
        path = path.replace(name, value)
    kind = "application/merge-patch+json" if method == "PATCH" and "threshold" not in path else "application/json"
    return door.request(method, path, content=body, headers={"Content-Type": kind, "If-Match": "*"})


def twice(body: dict[str, Any]) -> bytes:
    """Return the body with its first member twice."""
    name = next(iter(body))
    return f'{{"{name}": {json.dumps(body[name])}, {json.dumps(body)[1:]}'.encode()


FAULTS = {
    "twice": (twice, {400, 422}),
    "misspelt": (lambda body: json.dumps({**body, "sensr": 1}).encode(), {422}),
    "no JSON": (lambda body: json.dumps(body)[:-1].encode(), {400, 422}),
}


def refuse(door: httpx2.Client, service: str, route: str, fault: str) -> None:
    made, statuses = FAULTS[fault]
    answer = send(door, route, made(BODIES[service][route]))
    assert answer.status_code in statuses, (route, fault, answer.status_code, answer.text)
    assert answer.headers["content-type"] == "application/problem+json"
    name = {"twice": next(iter(BODIES[service][route])), "misspelt": "sensr", "no JSON": "JSON"}[fault]
    assert name in answer.text, (route, fault, answer.text)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("route", BODIES["ingest"])
def test_ingest_refuses_it(ingest: TestClient, route: str, fault: str) -> None:
    refuse(ingest, "ingest", route, fault)


def test_alerting_refuses_it(engine_file: Database, client: httpx2.Client) -> None:
    with front(engine_file, str(client.base_url).rstrip("/"), timeout_s=60) as door:
        assert door.put("/v1/queries/intruder", json=query()).status_code == 201
        engine_file.store([control_record("receiver/intruder", {"v": 1, "receiver": RECEIVER})])
        engine_file.store([silence("intruder", area="bay")])
        for route in BODIES["alerting"]:
            for fault in FAULTS:
                refuse(door, "alerting", route, fault)
        for items in ("/v1/keys", "/v1/rebuilds", "/v1/history-runs"):
            assert door.get(items).json()["items"] == []
        for items in ("/v1/receivers", "/v1/silences"):
            assert [each["version"] for each in door.get(items).json()["items"]] == [0]


def test_every_body_of_the_documents_is_in_this_file(ingest: TestClient, engine_file: Database) -> None:
    with front(engine_file, None) as door:
        documents = {"ingest": ingest.get("/openapi.json").json(), "alerting": door.get("/openapi.json").json()}
    for service, document in documents.items():
        bodies = {
            f"{method.upper()} {path}"
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
            if "requestBody" in operation
        }
        assert bodies == set(BODIES[service]) - WITHOUT_DOCUMENT


def test_a_parameter_that_stands_twice_is_refused(ingest: TestClient, engine_file: Database) -> None:
    with front(engine_file, None) as door:
        asked = [(ingest, "/v1/sensors"), (ingest, "/v1/templates"), (door, "/v1/matches"), (door, "/v1/keys")]
        for client, path in asked:
            answer = client.get(f"{path}?limit=1&limit=2")
            assert (answer.status_code, answer.json()["field"]) == (422, "limit"), path
        assert door.get("/v1/matches?query=x&query=y").status_code == 404  # a list: there are no such queries


@pytest.mark.parametrize("label", ["sensr", "quer"])
def test_a_silence_for_a_label_that_no_alert_has_is_refused(engine_file: Database, label: str) -> None:
    with front(engine_file, None) as door:
        answer = door.post("/v1/silences", json={**SILENCE, "matchers": {label: "mic-*"}})
        assert (answer.status_code, answer.json()["field"]) == (422, f"matchers.{label}")
        assert "kind, severity, query, area, sensor, stream" in answer.json()["allowed"]
