import time
from pathlib import Path

import httpx
import pytest

from deploy.local.machine import free_ports
from services.alerting.__main__ import main
from tests.integration.service_process import running_alerting
from tests.services.alerting.records import query


def test_without_kafka_it_stays_up_says_so_and_stops_at_once(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_ports(1)[0]}"
    with running_alerting(nowhere, tmp_path) as alerting:
        ready = alerting.call("GET", "/readyz")
        assert (ready.status_code, ready.headers["content-type"]) == (503, "application/problem+json")
        assert alerting.get("/v1/matches")["items"] == []
        assert alerting.get("/v1/dead-letters")["items"] == []
        put = alerting.call("PUT", "/v1/queries/intruder", json=query())
        assert (put.status_code, put.headers["retry-after"]) == (503, "2")
        metrics = alerting.call("GET", "/metrics").text
        assert "coincide_alerting_kafka_up 0.0" in metrics
        with httpx.stream("GET", f"{alerting.url}/v1/live?last_event_id=0") as live:
            lines = live.iter_lines()
            assert next(lines) == ": open"
            began_s = time.monotonic()
            alerting.terminate()
            assert alerting.wait() == 0
            assert list(lines)[-1] == ""  # the stream ended whole: no error while it was read
            assert time.monotonic() - began_s < 4
    assert '"level": "error"' not in (tmp_path / "alerting.log").read_text()


@pytest.mark.parametrize(
    ("yaml", "named"),
    [
        ("{tls_certificate: /no/such/file.pem, tls_key: /no/such/key.pem}", "/no/such/key.pem"),
        ("colour: red", "colour"),
        ("database_url: mysql://localhost/x", "database_url"),
        ("database_url: nonsense", "nonsense"),
        ("streams_path: /no/such/file.yaml", "/no/such/file.yaml"),
        ("{page_items: 500, page_items_max: 100}", "page_items"),
    ],
)
def test_settings_that_cannot_be_used_end_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], yaml: str, named: str
) -> None:
    config = tmp_path / "alerting.yaml"
    config.write_text(yaml)
    assert main(["--config", str(config)]) == 1
    said = capsys.readouterr().err
    assert named in said
    assert len(said.strip().splitlines()) == 1
