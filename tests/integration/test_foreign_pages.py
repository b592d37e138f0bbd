"""A page of another origin, in a real browser on the operator's machine, reads nothing and changes nothing."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from deploy.host.machine import ROOT, free_ports
from tests.browser import find_browser
from tests.integration.foreign_site import results_of_page
from tests.integration.service_process import metric
from tests.one_process import OneProcess, one_process
from tests.patience import until

pytestmark = pytest.mark.slow

WITHIN = {"between": ["a", "b"], "window_s": 2, "threshold": 0.5}
QUERY = {"from": {"a": "noise", "b": "noise"}, "within": [WITHIN]}
JSON = {"Content-Type": "application/json"}
DETECTION = json.dumps({"sensor": "imb", "stream": "neutrino", "detected_at": "2026-01-01T00:00:00Z"})

#: Who counts what it refuses.
REFUSING = ("alerting", "ingest", "fusion")
KEY = {"name": "of a page", "scopes": ["admin"]}

Attempts = list[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class GuardedLine:
    """What a page could reach, and what shows a key that may do everything, where keys are needed."""

    process: OneProcess
    headers: dict[str, str]
    listed_port: int
    """Of the one page of another origin that may."""

    def url(self, component: str) -> str:
        return self.process.layout.url(component)

    def call(self, method: str, component: str, path: str, **options: Any) -> httpx2.Response:
        headers = {**self.headers, **options.pop("headers", {})}
        return httpx2.request(method, self.url(component) + path, headers=headers, timeout=30.0, **options)


def attempts_on(line: GuardedLine) -> Attempts:
    """What a page may try, with a preflight and without: to read, to make, to pause, to remove, to report."""
    alerting, ingest, fusion = map(line.url, ("alerting", "ingest", "fusion"))
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
        put(f"{ingest}/v1/sensors/of-a-page", {"area": "north", "streams": {"noise": {"uniform": [-1, 0]}}}),
        put(f"{ingest}/v1/streams/of-a-page", {"max_delay_s": 1}),
        (f"{fusion}/metrics", {"headers": line.headers}),
        (f"{fusion}/metrics", {"mode": "no-cors"}),
    ]


@pytest.fixture(scope="module")
def browser() -> str:
    return find_browser()


@pytest.fixture(scope="module", params=[False, True], ids=["without keys", "with keys"])
def line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedLine]:
    """All of it. Where keys are needed, the page has even stolen one that may do everything."""
    needed = json.dumps(request.param)
    [port] = free_ports(1)
    own = {f"COINCIDE_{each}_REQUIRE_KEYS": needed for each in ("INGEST", "ALERTING")}
    own["COINCIDE_ALERTING_ALLOWED_ORIGINS"] = json.dumps([f"http://console.example:{port}"])
    with one_process(tmp_path_factory.mktemp("guarded") / "line", own) as process:
        line = GuardedLine(process, {"Authorization": f"Bearer {made_key(process)}"} if request.param else {}, port)
        for component, path in (("alerting", "/v1/keys"), ("ingest", "/v1/sensors"), ("fusion", "/metrics")):
            until(lambda: line.call("GET", component, path).is_success)  # noqa: B023
        line.call("PUT", "alerting", "/v1/queries/kept", json=QUERY).raise_for_status()
        yield line


def made_key(process: OneProcess) -> str:
    command = [sys.executable, "-m", "services.common.access", "--log", str(process.log), "create", "--scope", "admin"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def state(line: GuardedLine) -> Any:
    """Everything that a page might have changed."""
    listed = {"alerting": ("receivers", "keys"), "ingest": ("sensors", "streams")}
    lists = [line.call("GET", component, f"/v1/{name}") for component, names in listed.items() for name in names]
    queries = [line.call("GET", "alerting", f"/v1/queries/{id_}") for id_ in ("kept", "of-a-page")]
    assert [each.status_code for each in lists] == [200] * 4
    assert [each.status_code for each in queries] == [200, 404]
    taken = metric(line.url("ingest"), "coincide_ingest_detections_accepted_total", line.headers)
    return queries[0].headers["etag"], [each.json()["items"] for each in lists], taken


def refusals(line: GuardedLine, reason: str) -> list[float]:
    """Return how often alerting, ingest and fusion have refused for this reason."""
    sample = 'coincide_{}_requests_refused_total{{reason="{}"}}'
    return [metric(line.url(name), sample.format(name, reason), line.headers) or 0.0 for name in REFUSING]


def test_a_page_of_another_origin_changes_and_reads_nothing(browser: str, line: GuardedLine) -> None:
    before, attempts = state(line), attempts_on(line)
    results = results_of_page(browser, "evil.example", attempts, "")
    assert [
        (url, each) for (url, _), each in zip(attempts, results, strict=True) if each not in {"blocked", "opaque"}
    ] == []
    assert state(line) == before  # no-cors: the page may ask, and learns nothing
    assert [many >= few for many, few in zip(refusals(line, "origin"), (9, 5, 2), strict=True)] == [True] * 3


def test_a_page_whose_name_is_bound_anew_to_this_machine_changes_and_reads_nothing(
    browser: str, line: GuardedLine
) -> None:
    before, refused = state(line), refusals(line, "host")
    url = line.process.layout.url("console")
    attempts = [(asked.removeprefix(url), options) for asked, options in attempts_on(line)]
    results = results_of_page(browser, "evil.example", attempts, url, urlsplit(url).port or 0)
    assert [each if each == "opaque" else int(each) for each in results] == [421] * len(attempts)
    assert state(line) == before
    asked = [sum(f"/components/{name}/" in path for path, _ in attempts) for name in REFUSING]
    more = [after - many for after, many in zip(refusals(line, "host"), refused, strict=True)]
    assert [many >= few for many, few in zip(more, asked, strict=True)] == [True] * 3  # Chromium tries again after 421


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_foreign_host_is_refused_without_a_browser_too(line: GuardedLine, method: str) -> None:
    for component in ("alerting", "ingest"):
        answer = line.call(method, component, "/v1/queries/kept", headers={"Host": "evil.example"})
        assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json")


def test_a_page_of_a_listed_origin_may(browser: str, line: GuardedLine) -> None:
    """So the attempts above fail by the guard alone."""
    url = f"{line.url('alerting')}/v1/queries"
    put = {"method": "PUT", "body": json.dumps(QUERY), "headers": {**JSON, **line.headers}}
    made = f"{url}/of-a-page"
    results = results_of_page(
        browser, "console.example", [(url, {"headers": line.headers}), (made, put)], "", line.listed_port
    )
    assert results == [200, 201]
    line.call("DELETE", "alerting", "/v1/queries/of-a-page", headers={"If-Match": "*"}).raise_for_status()
