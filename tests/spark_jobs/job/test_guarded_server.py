"""The HTTP server of a job, in its thread, goes by the same law as the services."""

import socket
import threading
from collections.abc import Iterator

import httpx2
import pytest
from prometheus_client import CollectorRegistry

from services.common.access.component_access import ComponentAccess
from services.common.engine.fusion_settings import FusionSettings
from services.common.kafka.connection import KafkaConnection
from spark_jobs.job.job_server import job_server
from tests.services.kept_records import KeptRecords

ORIGIN = "https://console.example"


@pytest.fixture(scope="module")
def records() -> KeptRecords:
    return KeptRecords()


@pytest.fixture(scope="module")
def client(records: KeptRecords) -> Iterator[httpx2.Client]:
    settings = FusionSettings(
        port=0, kafka=KafkaConnection(servers="127.0.0.1:1"), require_keys=True, allowed_origins=(ORIGIN,)
    )
    registry = CollectorRegistry()
    access = ComponentAccess("fusion", settings, registry, publisher=records)
    records.follow_with(access.ring)
    server = job_server(settings, access, registry, lambda: None)
    server.start()
    with httpx2.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        yield client
    server.stop()


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


def test_who_says_nothing_keeps_nobody_waiting_nor_the_end(records: KeptRecords) -> None:
    settings = FusionSettings(port=0, kafka=KafkaConnection(servers="127.0.0.1:1"))
    access = ComponentAccess("fusion", settings, CollectorRegistry(), publisher=records)
    server, others = job_server(settings, access, CollectorRegistry(), lambda: None), http_threads()
    server.start()
    silent = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(300)]
    assert httpx2.get(f"http://127.0.0.1:{server.port}/livez").status_code == 200
    server.stop()
    assert http_threads() == others
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), 10)
    for each in silent:
        each.close()


def http_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "http"}


def raw(client: httpx2.Client, request: bytes) -> tuple[bytes, bytes]:
    """Return head and body of the answer to bytes that no client would send."""
    with socket.create_connection(("127.0.0.1", client.base_url.port or 0), 10) as connection:
        connection.sendall(request)
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "HEAD"])
def test_a_method_that_is_none_here_is_a_problem_that_says_which_are(
    client: httpx2.Client, records: KeptRecords, method: str
) -> None:
    for path, status, allowed in (("/metrics", 405, "GET"), ("/livez", 405, "GET"), ("/nothing", 404, None)):
        refused = client.request(method, path, headers={"Authorization": f"Bearer {records.make('a', ['admin'])}"})
        assert (refused.status_code, refused.headers.get("allow")) == (status, allowed)
        assert refused.headers["content-type"] == "application/problem+json"
        assert method == "HEAD" or refused.json()["status"] == status


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"GET /livez HTTP/9.9\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: \xb2\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n", b""),
    ],
)
def test_what_is_no_request_is_answered_as_a_service_does(
    client: httpx2.Client, request_: bytes, answer: bytes
) -> None:
    head, _ = raw(client, request_)
    assert head[: len(answer) or None] == answer
