"""The jobs' HTTP servers go by the same law as the services, without FastAPI."""

import socket
from collections.abc import Iterator

import httpx2
import pytest
from prometheus_client import CollectorRegistry

from services.common.access.component_access import ComponentAccess
from services.common.kafka.connection import KafkaConnection
from spark_jobs.job.http_server import JobServer
from spark_jobs.settings import FusionSettings
from tests.services.kept_records import KeptRecords

ORIGIN = "https://console.example"


@pytest.fixture
def records() -> KeptRecords:
    return KeptRecords()


@pytest.fixture
def client(records: KeptRecords) -> Iterator[httpx2.Client]:
    settings = FusionSettings(
        port=0, kafka=KafkaConnection(servers="127.0.0.1:1"), require_keys=True, allowed_origins=(ORIGIN,)
    )
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
    settings = FusionSettings(port=0, kafka=KafkaConnection(servers="127.0.0.1:1"))
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


def raw(client: httpx2.Client, request: bytes) -> tuple[bytes, bytes]:
    """Return head and body of the answer to bytes that no client would send."""
    with socket.create_connection(("127.0.0.1", client.base_url.port or 0), 10) as connection:
        connection.sendall(request)
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "HEAD", "BREW"])
def test_a_method_that_is_none_here_is_a_problem_that_says_which_are(
    client: httpx2.Client, records: KeptRecords, method: str
) -> None:
    for path, status, allowed in (("/metrics", 405, "GET"), ("/livez", 405, "GET"), ("/nothing", 404, None)):
        refused = client.request(method, path, headers={"Authorization": f"Bearer {records.make('a', ['admin'])}"})
        assert (refused.status_code, refused.headers.get("allow")) == (status, allowed)
        assert refused.headers["content-type"] == "application/problem+json"
        assert method == "HEAD" or refused.json()["status"] == status


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /livez HTTP/1.1 x\r\n\r\n", b"400"),
        (b"GET /livez HTTP/9.9\r\n\r\n", b"505"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: " * 4000 + b"\r\n" * 2, b"200"),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + (b"X-Long: " + b"x" * 9000 + b"\r\n") * 90 + b"\r\n", b"431"),
    ],
)
def test_what_is_no_request_is_a_problem_and_no_page(client: httpx2.Client, request_: bytes, status: bytes) -> None:
    head, body = raw(client, request_)
    assert head.split()[1] == status
    assert status == b"200" or (b"application/problem+json" in head and b'"status": ' + status in body)


@pytest.mark.parametrize("length", ["²", "٣", "9" * 5000, "-1", "1e3", "x", ""])
def test_a_length_that_is_no_number_is_answered(client: httpx2.Client, length: str) -> None:
    for method in ("POST", "GET"):
        request = f"{method} /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        head, body = raw(client, request.encode())
        assert b"application/problem+json" in head
        assert body.startswith(b"{")
