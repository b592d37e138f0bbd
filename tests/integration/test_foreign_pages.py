"""A page of another origin, in a real browser on the operator's machine, reads nothing and changes nothing."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from prometheus_client import CollectorRegistry

from deploy.host.machine import free_ports
from deploy.local.broker import Broker
from services.common.access.component_access import ComponentAccess
from services.ingest.registry.seed import seed
from spark_jobs.job.job_server import job_server
from spark_jobs.settings import FusionSettings
from tests.browser import find_browser
from tests.integration.foreign_site import results_of_page
from tests.integration.service_process import (
    AlertingProcess,
    IngestProcess,
    ServiceProcess,
    metric,
    running_alerting,
    running_ingest,
)
from tests.integration.test_access import bearer, run_command
from tests.patience import until
from tests.services.ingest.building import SENSORS

pytestmark = pytest.mark.jvm

WITHIN = {"between": ["a", "b"], "window_s": 2, "threshold": 0.5}
QUERY = {"from": {"a": "seismic", "b": "acoustic"}, "within": [WITHIN]}
JSON = {"Content-Type": "application/json"}
DETECTION = json.dumps({"sensor": "geo", "detected_at": "2026-01-01T00:00:00Z"})

KEY = {"name": "of a page", "scopes": ["admin"]}

Attempts = list[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class GuardedLine:
    """What a page could reach, and what shows a key that may do everything, where keys are needed."""

    alerting: AlertingProcess
    ingest: IngestProcess
    fusion: str
    headers: dict[str, str]


def attempts_on(line: GuardedLine) -> Attempts:
    """What a page may try, with a preflight and without: to read, to make, to pause, to remove, to report."""
    alerting, ingest = line.alerting.url, line.ingest.url
    queries, shown = f"{alerting}/v1/queries", {**JSON, **line.headers}

    def put(url: str, body: Any) -> tuple[str, Mapping[str, Any]]:
        return url, {"method": "PUT", "body": json.dumps(body), "headers": shown}

    return [
        (queries, {"headers": line.headers}),
        (f"{alerting}/v1/live", {}),
        put(f"{queries}/of-a-page", QUERY),
        (f"{queries}/kept/pause", {"method": "POST", "headers": {"If-Match": "*"}}),
        (f"{queries}/kept/pause", {"method": "POST", "mode": "no-cors"}),
        (f"{queries}/kept", {"method": "DELETE", "headers": {"If-Match": "*", **line.headers}}),
        put(f"{alerting}/v1/receivers/of-a-page", {"webhook": {"url": "https://evil.example/"}}),
        (f"{alerting}/v1/keys", {"method": "POST", "body": json.dumps(KEY), "headers": shown}),
        (f"{alerting}/v1/keys", {"method": "POST", "body": json.dumps(KEY), "mode": "no-cors"}),
        (f"{ingest}/v1/detections", {"method": "POST", "body": DETECTION, "headers": shown}),
        (f"{ingest}/v1/detections", {"method": "POST", "body": DETECTION, "mode": "no-cors"}),
        (f"{ingest}/v1/sensors", {"mode": "no-cors"}),
        put(f"{ingest}/v1/sensors/of-a-page", {"area": "north", "streams": {"seismic": {"uniform": [-1, 0]}}}),
        put(f"{ingest}/v1/streams/of-a-page", {"max_delay_s": 1}),
        (f"{line.fusion}/metrics", {"headers": line.headers}),
        (f"{line.fusion}/metrics", {"mode": "no-cors"}),
    ]


@pytest.fixture(scope="module")
def browser() -> str:
    return find_browser()


@pytest.fixture(scope="module", params=[False, True], ids=["without keys", "with keys"])
def line(
    request: pytest.FixtureRequest, kafka: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GuardedLine]:
    """All three ports. Where keys are needed, the page has even stolen one that may do everything."""
    keys = {"require_keys": request.param}
    seed(kafka.connection, {"geo": SENSORS["geo"]}, prune=False, dry_run=False)
    shown = bearer(run_command(kafka, "create", "--scope", "admin").stdout.strip()) if request.param else {}
    folder = tmp_path_factory.mktemp("line")
    with (
        running_alerting(kafka.bootstrap, folder, **keys) as alerting,
        running_ingest(kafka.bootstrap, folder, **keys) as ingest,
        _running_job(kafka, **keys) as fusion,
    ):
        line = GuardedLine(alerting, ingest, fusion, shown)
        for process, path in ((alerting, "/v1/keys"), (ingest, "/v1/sensors")):
            process.wait_for("/readyz", 200)
            until(partial(_answers, process, path, shown))
        alerting.call("PUT", "/v1/queries/kept", json=QUERY, headers=shown).raise_for_status()
        yield line
        alerting.call("DELETE", "/v1/queries/kept", headers={"If-Match": "*", **shown}).raise_for_status()


def _answers(process: ServiceProcess, path: str, headers: dict[str, str]) -> bool:
    return process.call("GET", path, headers=headers).is_success


@contextmanager
def _running_job(kafka: Broker, **settings: Any) -> Iterator[str]:
    """Serve what fusion serves, and return where."""
    of_job = FusionSettings(port=0, kafka=kafka.connection, **settings)
    registry = CollectorRegistry()
    access = ComponentAccess("fusion", of_job, registry)
    server = job_server(of_job, access, registry, lambda: None)
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def state(line: GuardedLine) -> Any:
    """Everything that a page might have changed."""
    alerting = [line.alerting.call("GET", f"/v1/{path}", headers=line.headers) for path in ("receivers", "keys")]
    ingest = [line.ingest.call("GET", f"/v1/{path}", headers=line.headers) for path in ("sensors", "streams")]
    queries = [line.alerting.call("GET", f"/v1/queries/{id_}", headers=line.headers) for id_ in ("kept", "of-a-page")]
    assert [each.status_code for each in (*alerting, *ingest)] == [200] * 4
    assert [each.status_code for each in queries] == [200, 404]
    taken = metric(line.ingest.url, "coincide_ingest_detections_accepted_total", line.headers)
    return queries[0].headers["etag"], [each.json()["items"] for each in (*alerting, *ingest)], taken


def refusals(line: GuardedLine, reason: str) -> list[float]:
    """Return how often alerting, ingest and fusion have refused for this reason."""
    urls = {"alerting": line.alerting.url, "ingest": line.ingest.url, "fusion": line.fusion}
    sample = 'coincide_{}_requests_refused_total{{reason="{}"}}'
    return [metric(url, sample.format(name, reason), line.headers) or 0.0 for name, url in urls.items()]


def test_a_page_of_another_origin_changes_and_reads_nothing(browser: str, line: GuardedLine) -> None:
    before, attempts = state(line), attempts_on(line)
    results = results_of_page(browser, "evil.example", attempts, "")
    assert [
        (url, each) for (url, _), each in zip(attempts, results, strict=True) if each not in {"blocked", "opaque"}
    ] == []
    assert state(line) == before  # no-cors: the page may ask, and learns nothing
    assert [many >= few for many, few in zip(refusals(line, "origin"), (9, 5, 2), strict=True)] == [True] * 3


@pytest.mark.parametrize("service", ["alerting", "ingest", "fusion"])
def test_a_page_whose_name_is_bound_anew_to_this_machine_changes_and_reads_nothing(
    browser: str, line: GuardedLine, service: str
) -> None:
    url = line.fusion if service == "fusion" else getattr(line, service).url
    before = state(line)
    own = [each for each in attempts_on(line) if each[0].startswith(url)]
    attempts = [(path.removeprefix(url), options) for path, options in own]
    results = results_of_page(browser, "evil.example", attempts, url, urlsplit(url).port or 0)
    assert [each if each == "opaque" else int(each) for each in results] == [421] * len(attempts)
    assert state(line) == before
    assert max(refusals(line, "host")) >= len(attempts)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_foreign_host_is_refused_without_a_browser_too(line: GuardedLine, method: str) -> None:
    for process in (line.alerting, line.ingest):
        answer = process.call(method, "/v1/queries/kept", headers={"Host": "evil.example", **line.headers})
        assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json")


def test_a_page_of_a_listed_origin_may(browser: str, kafka: Broker, tmp_path: Path) -> None:
    """So the attempts above fail by the guard alone."""
    [port] = free_ports(1)
    origin = f"http://console.example:{port}"
    with running_alerting(kafka.bootstrap, tmp_path, allowed_origins=[origin]) as alerting:
        alerting.wait_for("/readyz", 200)
        url, put = f"{alerting.url}/v1/queries", {"method": "PUT", "body": json.dumps(QUERY), "headers": JSON}
        results = results_of_page(browser, "console.example", [(url, {}), (f"{url}/of-a-page", put)], "", port)
        assert results == [200, 201]
        until(lambda: alerting.status_of("/v1/queries/of-a-page") == 200)
        assert alerting.call("DELETE", "/v1/queries/of-a-page", headers={"If-Match": "*"}).status_code == 204
