from pathlib import Path

import httpx2
import pytest

from deploy.host.machine import free_ports
from services.alerting.__main__ import main
from services.alerting.following.projection import DATABASE_LOST
from services.alerting.server import LOST
from services.common.program.skeleton import REFUSED
from tests.integration.service_process import AlertingProcess, metric, running_alerting
from tests.patience import until
from tests.postgresql import Server
from tests.services.alerting.sample_records import query


def test_without_kafka_it_stays_up_says_so_and_stops_at_once(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_ports(1)[0]}"
    with running_alerting(nowhere, tmp_path) as alerting:
        modes = {each.stat().st_mode & 0o077 for each in tmp_path.glob("alerting.sqlite3*")}
        assert modes == {0}  # it holds receivers' secrets
        ready = alerting.call("GET", "/readyz")
        assert (ready.status_code, ready.headers["content-type"]) == (503, "application/problem+json")
        assert alerting.get("/v1/matches")["items"] == []
        assert alerting.get("/v1/dead-letters")["items"] == []
        put = alerting.call("PUT", "/v1/queries/intruder", json=query())
        assert (put.status_code, put.headers["retry-after"]) == (503, "1")
        metrics = alerting.call("GET", "/metrics").text
        assert "coincide_alerting_kafka_up 0.0" in metrics
        with httpx2.stream("GET", f"{alerting.url}/v1/live?last_event_id=0") as live:
            lines = live.iter_lines()
            assert next(lines) == ": open"
            alerting.terminate()
            assert alerting.wait() == 0
            assert list(lines)[-1] == ""  # the stream ended whole: no error while it was read
    assert '"level": "error"' not in (tmp_path / "alerting.log").read_text()


def test_it_ends_with_a_status_of_its_own_once_its_database_was_deleted(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_ports(1)[0]}"
    with running_alerting(nowhere, tmp_path) as alerting:
        with httpx2.stream("GET", f"{alerting.url}/v1/live?last_event_id=0") as live:
            lines = live.iter_lines()
            assert next(lines) == ": open"
            for file in tmp_path.glob("alerting.sqlite3*"):
                file.unlink()
            assert list(lines)[-1] == ""  # the stream ended whole
        assert alerting.wait() == LOST
    assert DATABASE_LOST in (tmp_path / "alerting.log").read_text()
    with running_alerting(nowhere, tmp_path) as alerting:  # it makes a new one
        assert alerting.get("/v1/matches")["items"] == []
        assert metric(alerting.url, "coincide_alerting_database_lost_timestamp_seconds")  # and the alert rings
        assert alerting.stop() == 0


def test_of_two_processes_on_one_postgresql_one_writes_until_it_hangs_or_is_killed(
    server: Server, tmp_path: Path
) -> None:
    nowhere, own = f"127.0.0.1:{free_ports(1)[0]}", {"database_url": server.url(server.create())}
    with (
        running_alerting(nowhere, tmp_path, **own) as one,
        running_alerting(nowhere, tmp_path, **own) as another,
    ):
        until(lambda: _writes(one) + _writes(another) == 1)
        first, second = sorted((one, another), key=_writes, reverse=True)
        first.suspend()
        until(lambda: _writes(second) == 1)
        first.process.resume()
        until(lambda: (_writes(first), _writes(second)) == (0, 1))
        second.kill()
        until(lambda: _writes(first) == 1)
        begun = _terms_begun(tmp_path)
        ours = "application_name = 'coincide-alerting'"
        server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")
        until(lambda: _terms_begun(tmp_path) > begun)  # the same process again


def _terms_begun(folder: Path) -> int:
    return (folder / "alerting.log").read_text().count("this process writes the database")


def _writes(alerting: AlertingProcess) -> float:
    return metric(alerting.url, "coincide_alerting_writes") or 0.0


@pytest.mark.parametrize(
    ("yaml", "named"),
    [
        ("{tls_certificate: /no/such/file.pem, tls_key: /no/such/key.pem}", "/no/such/key.pem"),
        ("colour: red", "colour"),
        ("database_url: mysql://localhost/x", "database_url"),
        ("database_url: nonsense", "database_url is not a URL such as"),
        ("streams_path: /no/such/file.yaml", "/no/such/file.yaml"),
        ("{page_items: 500, page_items_max: 100}", "page_items"),
    ],
)
def test_settings_that_cannot_be_used_end_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], yaml: str, named: str
) -> None:
    config = tmp_path / "alerting.yaml"
    config.write_text(yaml)
    assert main(["--config", str(config)]) == REFUSED
    said = capsys.readouterr().err
    assert named in said
    assert len(said.strip().splitlines()) == 1
