"""A page of another origin, in a real browser on the operator's machine, reads nothing and changes nothing."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from deploy.local.broker import Broker
from deploy.local.machine import free_ports
from services.ingest.registry.seed import seed
from tests.browser import find_browser
from tests.integration.foreign_site import results_of_page
from tests.integration.service_process import (
    AlertingProcess,
    IngestProcess,
    metric,
    running_alerting,
    running_ingest,
    until,
)
from tests.services.ingest.building import SENSORS

pytestmark = pytest.mark.jvm

WITHIN = {"between": ["a", "b"], "window_s": 2, "threshold": 0.5}
QUERY = {"from": {"a": "seismic", "b": "acoustic"}, "within": [WITHIN]}
JSON = {"Content-Type": "application/json"}
DETECTION = json.dumps({"sensor": "geo", "detected_at": "2026-01-01T00:00:00Z"})

Attempts = list[tuple[str, Mapping[str, Any]]]


def attempts_on(alerting: str, ingest: str) -> Attempts:
    """What a page may try, with a preflight and without: to read, to make, to pause, to remove, to report."""
    queries = f"{alerting}/v1/queries"
    return [
        (queries, {}),
        (f"{alerting}/v1/live", {}),
        (f"{queries}/of-a-page", {"method": "PUT", "body": json.dumps(QUERY), "headers": JSON}),
        (f"{queries}/kept/pause", {"method": "POST", "headers": {"If-Match": "*"}}),
        (f"{queries}/kept/pause", {"method": "POST", "mode": "no-cors"}),
        (f"{queries}/kept", {"method": "DELETE", "headers": {"If-Match": "*"}}),
        (f"{ingest}/v1/detections", {"method": "POST", "body": DETECTION, "headers": JSON}),
        (f"{ingest}/v1/detections", {"method": "POST", "body": DETECTION, "mode": "no-cors"}),
        (f"{ingest}/v1/sensors", {"mode": "no-cors"}),
    ]


@pytest.fixture(scope="module")
def browser() -> str:
    return find_browser()


@pytest.fixture(scope="module")
def alerting(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertingProcess]:
    with running_alerting(kafka.bootstrap, tmp_path_factory.mktemp("alerting")) as alerting:
        alerting.wait_for("/readyz", 200)
        alerting.call("PUT", "/v1/queries/kept", json=QUERY).raise_for_status()
        yield alerting


@pytest.fixture(scope="module")
def ingest(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngestProcess]:
    seed(kafka.bootstrap, {"geo": SENSORS["geo"]}, prune=False, dry_run=False)
    with running_ingest(kafka.bootstrap, tmp_path_factory.mktemp("ingest")) as ingest:
        ingest.wait_for("/readyz", 200)
        yield ingest


def state(alerting: AlertingProcess, ingest: IngestProcess) -> Any:
    """Everything that a page might have changed."""
    queries = [alerting.call("GET", f"/v1/queries/{name}") for name in ("kept", "of-a-page")]
    taken = metric(ingest.url, "coincide_ingest_detections_accepted_total")
    return [(each.status_code, each.headers.get("etag")) for each in queries], taken


def refused(url: str, component: str, reason: str) -> float:
    return metric(url, f'coincide_{component}_requests_refused_total{{reason="{reason}"}}') or 0.0


def test_a_page_of_another_origin_changes_and_reads_nothing(
    browser: str, alerting: AlertingProcess, ingest: IngestProcess
) -> None:
    before = state(alerting, ingest)
    results = results_of_page(browser, "evil.example", attempts_on(alerting.url, ingest.url), "")
    assert set(results) <= {"blocked", "opaque"}, results  # no-cors: the page may ask and learns nothing
    assert state(alerting, ingest) == before
    assert refused(alerting.url, "alerting", "origin") >= 5
    assert refused(ingest.url, "ingest", "origin") >= 3


def test_a_page_whose_name_is_bound_anew_to_this_machine_changes_and_reads_nothing(
    browser: str, alerting: AlertingProcess, ingest: IngestProcess
) -> None:
    before = state(alerting, ingest)
    attempts = [(url.removeprefix(alerting.url), options) for url, options in attempts_on(alerting.url, ingest.url)[:6]]
    results = results_of_page(browser, "evil.example", attempts, alerting.url, alerting.port)
    assert [each if each == "opaque" else int(each) for each in results] == [421, 421, 421, 421, 421, 421]
    assert state(alerting, ingest) == before
    assert refused(alerting.url, "alerting", "host") >= 6


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_foreign_host_is_refused_without_a_browser_too(
    alerting: AlertingProcess, ingest: IngestProcess, method: str
) -> None:
    for process in (alerting, ingest):
        answer = process.call(method, "/v1/queries/kept", headers={"Host": "evil.example"})
        assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json")


def test_a_page_of_a_listed_origin_may(browser: str, kafka: Broker, tmp_path: Path) -> None:
    """So the attempts above fail by the guard alone."""
    [port] = free_ports(1)
    origin = f"http://console.example:{port}"
    with running_alerting(kafka.bootstrap, tmp_path, allowed_origins=[origin]) as alerting:
        alerting.wait_for("/readyz", 200)
        attempts = attempts_on(alerting.url, "")
        results = results_of_page(browser, "console.example", [attempts[0], attempts[2]], "", port)
        assert results == [200, 201]
        until(lambda: alerting.status_of("/v1/queries/of-a-page") == 200)
        assert alerting.call("DELETE", "/v1/queries/of-a-page", headers={"If-Match": "*"}).status_code == 204
