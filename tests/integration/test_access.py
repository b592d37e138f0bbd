"""Keys, TLS and the audit trail on real processes and a real Kafka: made, shown, limited, revoked, told of."""

import io
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import sync_playwright
from prometheus_client import CollectorRegistry

from deploy.host.machine import ROOT, free_ports
from deploy.local.broker import Broker
from services.common.access.__main__ import main as keys_command
from services.common.access.component_access import ComponentAccess
from services.common.engine.fusion_settings import FusionSettings
from services.common.program.skeleton import REFUSED
from services.ingest.registry.seed import seed
from spark_jobs.job.job_server import job_server
from tests.browser import find_browser
from tests.integration.service_process import (
    AlertingProcess,
    IngestProcess,
    run_module,
    running_alerting,
    running_ingest,
)
from tests.integration.tls_handshakes import check_tls
from tests.patience import until
from tests.services.https_server import own_certificate
from tests.services.ingest.building import SENSORS

pytestmark = pytest.mark.jvm

QUERY = {
    "from": {"a": "seismic", "b": "acoustic"},
    "within": [{"between": ["a", "b"], "window_s": 2, "threshold": 0.5}],
}


class Said(NamedTuple):
    status: int
    stdout: str
    stderr: str


def run_command(kafka: Broker, *arguments: str) -> Said:
    """Run the command in this process; the key of the first admin is made by a process of its own."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        status = keys_command(["--kafka", kafka.bootstrap, *arguments])
    return Said(status, stdout.getvalue(), stderr.getvalue())


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture(scope="module")
def ingest(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngestProcess]:
    """Ingest on an address that other machines reach: it needs keys because of that alone."""
    seed(
        kafka.connection,
        {name: SENSORS[name] for name in ("geo", "imb")},
        prune=False,
        dry_run=False,
    )
    with running_ingest(kafka.bootstrap, tmp_path_factory.mktemp("ingest"), host="0.0.0.0") as ingest:
        ingest.wait_for("/readyz", 200)
        yield ingest


@pytest.fixture(scope="module")
def alerting(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertingProcess]:
    with running_alerting(kafka.bootstrap, tmp_path_factory.mktemp("alerting"), require_keys=True) as alerting:
        alerting.wait_for("/readyz", 200)
        yield alerting


@pytest.fixture(scope="module")
def job(kafka: Broker) -> Iterator[str]:
    settings = FusionSettings(port=0, kafka=kafka.connection, require_keys=True)
    registry = CollectorRegistry()
    server = job_server(settings, ComponentAccess("fusion", settings, registry), registry, lambda: None)
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


@pytest.fixture(scope="module")
def admin(kafka: Broker, alerting: AlertingProcess) -> str:
    """The first key, made by command, once alerting takes it."""
    command = [sys.executable, "-m", "services.common.access", "--kafka", kafka.bootstrap, "create"]
    made = subprocess.run(
        [*command, "--scope", "admin", "--name", "the first"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    text = made.stdout.strip()
    until(lambda: alerting.call("GET", "/v1/keys", headers=bearer(text)).status_code == 200)
    return text


def make_key(alerting: AlertingProcess, admin: str, **wanted: Any) -> dict[str, Any]:
    made = alerting.call("POST", "/v1/keys", json=wanted, headers=bearer(admin))
    assert made.status_code == 201, made.text
    assert made.headers["cache-control"] == "no-store"
    body: dict[str, Any] = made.json()
    return body


def statuses(*asked: Callable[[], httpx2.Response]) -> list[int]:
    return [each().status_code for each in asked]


def test_without_a_key_only_health_answers(ingest: IngestProcess, alerting: AlertingProcess, job: str) -> None:
    for url in (ingest.url, alerting.url, job):
        assert httpx2.get(f"{url}/livez").status_code == 200
        refused = httpx2.get(f"{url}/metrics")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert refused.headers["content-type"] == "application/problem+json"
    assert ingest.post([]).status_code == 401


def test_a_key_is_refused_everywhere_after_its_revocation(
    ingest: IngestProcess, alerting: AlertingProcess, job: str, admin: str
) -> None:
    key = make_key(alerting, admin, name="reader", scopes=["read"])
    everywhere = [
        lambda url=url, path=path: httpx2.get(f"{url}{path}", headers=bearer(key["key"]))
        for url, path in ((ingest.url, "/v1/sensors"), (alerting.url, "/v1/queries"), (job, "/metrics"))
    ]
    until(lambda: statuses(*everywhere) == [200, 200, 200])
    assert alerting.call("DELETE", f"/v1/keys/{key['id']}", headers=bearer(admin)).status_code == 204
    until(lambda: statuses(*everywhere) == [401, 401, 401])


def test_a_live_stream_ends_with_its_keys_revocation(alerting: AlertingProcess, admin: str) -> None:
    key = make_key(alerting, admin, name="live", scopes=["read"])
    with httpx2.stream("GET", f"{alerting.url}/v1/live", headers=bearer(key["key"]), timeout=20) as response:
        pieces = response.iter_text()
        assert ": open" in next(pieces)
        assert alerting.call("DELETE", f"/v1/keys/{key['id']}", headers=bearer(admin)).status_code == 204
        assert "event" not in "".join(pieces)  # to its end


def test_a_gateway_posts_for_its_areas_and_each_other_item_is_refused(
    ingest: IngestProcess, alerting: AlertingProcess, admin: str
) -> None:
    key = make_key(alerting, admin, name="gateway", scopes=["ingest"], areas=["bay"])
    now = datetime.now(UTC).isoformat()
    items = [{"sensor": name, "detected_at": now} for name in ("geo", "imb")]

    def post() -> httpx2.Response:
        return ingest.call("POST", "/v1/detections", json=items, headers=bearer(key["key"]))

    until(lambda: post().status_code == 202)
    verdicts = post().json()["detections"]
    assert [(each["status"], each.get("reason")) for each in verdicts] == [
        ("accepted", None),
        ("refused", "unknown_sensor"),
    ]
    reading = ingest.call("GET", "/v1/sensors", headers=bearer(key["key"]))
    assert reading.status_code == 403
    assert "lacks the scope read" in reading.json()["detail"]


def test_every_change_is_told_of_with_who_and_before_and_after(
    kafka: Broker, alerting: AlertingProcess, admin: str
) -> None:
    key = make_key(alerting, admin, name="query editor", scopes=["queries", "read"])
    editor = bearer(key["key"])
    assert alerting.call("PUT", "/v1/queries/audited", json=QUERY, headers=editor).status_code == 201
    patched = alerting.call(
        "PATCH", "/v1/queries/audited/threshold", json={"threshold": 0.7}, headers={**editor, "If-Match": "*"}
    )
    assert patched.status_code == 200
    assert alerting.call("DELETE", "/v1/queries/audited", headers={**editor, "If-Match": "*"}).status_code == 204
    assert alerting.call("GET", "/v1/audit", headers=editor).status_code == 403

    def page(**filters: Any) -> dict[str, Any]:
        answer = alerting.call("GET", "/v1/audit", params=filters, headers=bearer(admin))
        body: dict[str, Any] = answer.raise_for_status().json()
        return body

    told = page(subject="audited")["items"]
    assert [each["action"] for each in told] == ["query.removed", "query.changed", "query.created"]
    assert {(each["key"], each["name"], each["address"], each["component"]) for each in told} == {
        (key["id"], "query editor", "127.0.0.1", "alerting")
    }
    removed, changed, created = told
    assert (created["before"], removed["after"]) == (None, None)
    thresholds = [each["within"][0]["threshold"] for each in (changed["before"], changed["after"])]
    assert thresholds == [0.5, 0.7]
    [first] = [each for each in page(action="key.made", limit=1000)["items"] if each["after"]["name"] == "the first"]
    assert first["component"] == "command"
    whole = page(limit=1000)
    assert "sha256" not in str(whole)
    newest = page(limit=2)
    older = page(limit=2, cursor=newest["next_cursor"])
    assert [*newest["items"], *older["items"]] == whole["items"][:4]
    assert (
        alerting.call("GET", f"/v1/audit?cursor={newest['next_cursor']}&key=x", headers=bearer(admin)).status_code
        == 422
    )


def test_the_command_lists_and_revokes(kafka: Broker, alerting: AlertingProcess, admin: str) -> None:
    refused = run_command(kafka, "create", "--scope", "ingest", "--name", "")
    assert refused.status == 1
    assert "no such key can be made" in refused.stderr
    text = run_command(kafka, "create", "--scope", "ingest", "--name", "jetty", "--area", "harbour-*").stdout.strip()
    id_ = text.split("_")[1]
    assert f"{id_}  jetty: ingest, for areas harbour-* and sensors *" in run_command(kafka, "list").stdout
    assert text not in run_command(kafka, "list").stdout
    until(lambda: alerting.call("GET", f"/v1/keys/{id_}", headers=bearer(admin)).status_code == 200)
    assert "is revoked" in run_command(kafka, "revoke", id_).stdout
    until(lambda: alerting.call("GET", f"/v1/keys/{id_}", headers=bearer(admin)).status_code == 404)
    assert run_command(kafka, "revoke", id_).status == 1


def test_a_replica_that_starts_later_knows_the_keys(kafka: Broker, admin: str, tmp_path: Path) -> None:
    with running_alerting(kafka.bootstrap, tmp_path, require_keys=True) as replica:
        until(lambda: replica.call("GET", "/v1/keys", headers=bearer(admin)).status_code == 200)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that its own key has signed, and that key."""
    return own_certificate(tmp_path_factory.mktemp("tls"))


def test_each_server_speaks_tls_1_2_at_least(kafka: Broker, certificate: tuple[Path, Path], tmp_path: Path) -> None:
    trusted, key = certificate
    tls = {"tls_certificate": str(trusted), "tls_key": str(key)}
    with running_ingest(kafka.bootstrap, tmp_path, **tls) as ingest:
        check_tls(ingest.port, trusted)
    [port] = free_ports(1)
    own = {"port": port, "kafka": {"servers": kafka.bootstrap}, "database_url": f"sqlite:///{tmp_path / 'a.sqlite3'}"}
    alerting = run_module("services.alerting", tmp_path / "alerting.log", "alerting", {**own, **tls})
    try:
        check_tls(port, trusted)
    finally:
        alerting.terminate()
        assert alerting.wait(30) == 0
    settings = FusionSettings(port=0, kafka=kafka.connection, tls_certificate=trusted, tls_key=key)
    registry = CollectorRegistry()
    server = job_server(settings, ComponentAccess("fusion", settings, registry), registry, lambda: None)
    server.start()
    with socket.create_connection(("127.0.0.1", server.port)):  # who says nothing keeps nobody waiting
        check_tls(server.port, trusted)
    server.stop()


def test_files_that_are_no_certificate_are_one_sentence(kafka: Broker, tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("nothing")
    tls = {name: str(tmp_path / "x.pem") for name in ("tls_certificate", "tls_key")}
    with running_ingest(kafka.bootstrap, tmp_path, **tls) as ingest:
        assert ingest.wait() == REFUSED
    [said] = (tmp_path / "ingest.log").read_text().splitlines()
    assert "x.pem" in said
    assert "cannot be used together" in said


def test_the_page_of_the_document_asks_for_the_key_and_loads_nothing_from_elsewhere(
    alerting: AlertingProcess, admin: str
) -> None:
    asked: list[str] = []
    found = find_browser()
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=found) as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{alerting.url}/docs")
        page.get_by_label("This service asks for a key").fill(admin)
        page.get_by_role("button", name="Show the document").click()
        operation = page.locator(".opblock-get").first
        operation.locator(".opblock-summary-control").click()
        operation.get_by_role("button", name="Try it out").click()
        operation.get_by_role("button", name="Execute").click()
        status = operation.locator(".live-responses-table .response-col_status").last
        status.wait_for()
        assert status.inner_text().startswith("200")
    assert {urlsplit(url).netloc for url in asked if not url.startswith("data:")} == {urlsplit(alerting.url).netloc}
