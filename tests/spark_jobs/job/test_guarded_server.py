"""The jobs' HTTP servers go by the same law as the services, without FastAPI."""

import socket
from collections.abc import Iterator

import httpx2
import pytest
from prometheus_client import CollectorRegistry

from services.common.access.component_access import ComponentAccess
from spark_jobs.job.http_server import JobServer
from spark_jobs.settings import FusionSettings
from tests.services.kept_records import KeptRecords

ORIGIN = "https://console.example"


@pytest.fixture
def records() -> KeptRecords:
    return KeptRecords()


@pytest.fixture
def client(records: KeptRecords) -> Iterator[httpx2.Client]:
    settings = FusionSettings(port=0, kafka_bootstrap="127.0.0.1:1", require_keys=True, allowed_origins=(ORIGIN,))
    registry = CollectorRegistry()
    access = ComponentAccess("fusion", settings, registry, publisher=records)
    records.follow_with(access.ring)
    server = JobServer(settings, access, registry, lambda: None)
    server.start()
    with httpx2.Client(base_url=f"http://127.0.0.1:{server.server_address[1]}") as client:
        yield client
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({}, 401),
        ({"Authorization": "Bearer ck_wrong"}, 401),
    ],
)
def test_what_the_guard_refuses_is_a_problem(client: httpx2.Client, headers: dict[str, str], status: int) -> None:
    refused = client.get("/metrics", headers=headers)
    assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")
    assert refused.json()["status"] == status


def test_a_key_is_held_to_its_scopes(client: httpx2.Client, records: KeptRecords) -> None:
    reader, gateway = (records.make(scope, [scope]) for scope in ("read", "ingest"))
    metrics = client.get("/metrics", headers={"Authorization": f"Bearer {reader}"})
    assert metrics.status_code == 200
    assert 'coincide_fusion_requests_refused_total{reason="scope"}' not in metrics.text
    assert client.get("/metrics", headers={"Authorization": f"Bearer {gateway}"}).status_code == 403
    counted = client.get("/metrics", headers={"Authorization": f"Bearer {reader}"}).text
    assert 'coincide_fusion_requests_refused_total{reason="scope"} 1.0' in counted


def test_health_needs_no_key(client: httpx2.Client) -> None:
    assert [client.get(path).status_code for path in ("/livez", "/readyz?verbose")] == [200, 200]


def test_a_listed_origin_is_told_that_it_may(client: httpx2.Client, records: KeptRecords) -> None:
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
    assert client.options("/metrics", headers=asked).status_code == 204
    shown = {"Origin": ORIGIN, "Authorization": f"Bearer {records.make('console', ['read'])}"}
    assert client.get("/metrics", headers=shown).headers["access-control-allow-origin"] == ORIGIN


def test_a_refused_body_does_not_cost_the_answer(client: httpx2.Client) -> None:
    assert client.post("/metrics", content=b"x" * 60_000).status_code == 415


def test_one_peer_has_half_of_the_connections(records: KeptRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.job.http_server.MOST_CONNECTIONS", 4)
    settings = FusionSettings(port=0, kafka_bootstrap="127.0.0.1:1")
    access = ComponentAccess("fusion", settings, CollectorRegistry(), publisher=records)
    server = JobServer(settings, access, CollectorRegistry(), lambda: None)
    server.start()
    here, elsewhere = server.server_address[:2], ("127.0.0.2", 0)
    silent = [socket.create_connection(("127.0.0.1", here[1]), 10) for _ in range(2)]
    with socket.create_connection(("127.0.0.1", here[1]), 10) as refused:
        assert refused.recv(1) == b""  # it is closed at once
    with socket.create_connection(("127.0.0.1", here[1]), 10, source_address=elsewhere) as other:
        other.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert other.recv(12) == b"HTTP/1.0 200"
    for each in silent:
        each.close()
    server.shutdown()
    server.server_close()
