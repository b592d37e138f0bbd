"""The console as a process: it starts without the services, says that it lives, and settings it cannot use end it."""

from pathlib import Path

import httpx2
import pytest

from deploy.host.machine import free_ports
from services.common.program.skeleton import REFUSED
from services.console.__main__ import main
from tests.integration.service_process import ServiceProcess, run_module
from tests.integration.tls_handshakes import check_tls
from tests.services.https_server import own_certificate


def test_without_the_services_it_stays_up_and_stops_at_once(tmp_path: Path) -> None:
    port, nowhere = free_ports(2)
    settings = {
        "port": port,
        "alerting_url": f"http://127.0.0.1:{nowhere}",
        "ingest_url": f"http://127.0.0.1:{nowhere}",
    }
    console = ServiceProcess(port, run_module("services.console", tmp_path / "console.log", "console", settings))
    try:
        console.wait_for("/healthz", 200)
        assert console.status_of("/readyz") == 200
        assert "coincide_console_viewers 0.0" in console.call("GET", "/metrics").text
        assert console.call("GET", "/").status_code == 200  # it says itself that they are away
        assert console.stop() == 0
    finally:
        console.kill()
    assert '"level": "error"' not in (tmp_path / "console.log").read_text()


def test_pages_that_no_browser_connects_to_have_a_bound(tmp_path: Path) -> None:
    port, nowhere = free_ports(2)
    urls = {f"{name}_url": f"http://127.0.0.1:{nowhere}" for name in ("alerting", "ingest")}
    settings = {"port": port, "viewers_max": 4, **urls}
    console = ServiceProcess(port, run_module("services.console", tmp_path / "console.log", "console", settings))
    try:
        console.wait_for("/healthz", 200)
        answers = [console.call("GET", "/") for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 429, 429]
        assert "viewers_max" in answers[-1].text
        another = httpx2.HTTPTransport(local_address="127.0.0.2")
        with httpx2.Client(transport=another, base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            assert [client.get("/health").status_code for _ in range(3)] == [200, 200, 503]
        assert console.stop() == 0
    finally:
        console.kill()
    assert '"level": "error"' not in (tmp_path / "console.log").read_text()


def test_it_speaks_tls_1_2_at_least_and_nothing_else(tmp_path: Path) -> None:
    certificate, key = own_certificate(tmp_path)
    [port] = free_ports(1)
    settings = {"port": port, "tls_certificate": str(certificate), "tls_key": str(key)}
    console = ServiceProcess(port, run_module("services.console", tmp_path / "console.log", "console", settings))
    try:
        check_tls(port, certificate)
        assert console.stop() == 0
    finally:
        console.kill()


@pytest.mark.parametrize(
    ("yaml", "named"),
    [
        ("colour: red", "colour"),
        ("alerting_url: 127.0.0.1:8020", "alerting_url"),
        ("ingest_url: http://127.0.0.1:99999", "ingest_url"),
        ("{tls_certificate: /no/such/file.pem, tls_key: /no/such/key.pem}", "/no/such/key.pem"),
        ("drawn_detections_max: 0", "drawn_detections_max"),
    ],
)
def test_settings_that_cannot_be_used_end_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], yaml: str, named: str
) -> None:
    config = tmp_path / "console.yaml"
    config.write_text(yaml)
    assert main(["--config", str(config)]) == REFUSED
    said = capsys.readouterr().err
    assert named in said
    assert len(said.strip().splitlines()) == 1
