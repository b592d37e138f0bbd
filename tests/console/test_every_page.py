"""Every page in a real browser: for everybody, on every screen, and with hostile text wherever text may come from."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

from coincide.wire.declarations.template_proposal import TemplateForm, TemplateProposal
from tests.console.conftest import opened_anew, running_console, shoot
from tests.console.everybody import faults_of
from tests.console.line import running_line
from tests.console.past import running_past
from tests.console.watched_line import WatchedLine, watched_line
from tests.integration.service_process import ServiceProcess
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
IMAGE = "<img src=x onerror=window.hacked=1>"
HOSTILE = f"{IMAGE}${{window.hacked=2}}{{{{window.hacked=3}}}}"
AREA = '"><script>window.hacked=4</script>'
SENSORS = (f"{HOSTILE}-1", f"{HOSTILE}-2")
QUERY: dict[str, Any] = {
    "from": {"a": {"stream": "noise", "where": {f"attributes.{HOSTILE}": {"is": HOSTILE}}}, "b": "noise"},
    "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.3}],
    "areas": [AREA],
    "coalesce": {"gap_s": 5},
    "alert": {"severity": "critical", "title": f"{IMAGE} in {{area}}", "resolve_after_s": 3600},
}


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedLine]:
    """A line in which every text that somebody can give is hostile, with an archive of it."""
    folder = tmp_path_factory.mktemp("line")
    with watched_line(folder) as line:
        _declare(line)
        _happen(line)
        with running_past(line, folder):
            yield line


def _declare(line: WatchedLine) -> None:
    for nth, name in enumerate(SENSORS):
        place = {"lat": 47.5, "lon": -3.0 - nth / 10}
        document = {"area": AREA, "streams": {"noise": {"uniform": [-1.7, 0]}}, "place": place}
        document |= {"model": HOSTILE, "labels": {HOSTILE: HOSTILE}}
        line.call("PUT", "ingest", f"/v1/sensors/{quote(name, safe='')}", json=document).raise_for_status()
        form = TemplateForm([-1.25, 0.0], [1.0])
        proposal = TemplateProposal(
            id=f"p-{nth}", sensor=name, stream="noise", template=form, errors=77, pool="own", wrong_share=0.1,
            score=1.2345, present_score=1.0, proposed_at_us=1,
        )  # fmt: skip
        line.proposals[proposal.key] = proposal
    put = {"json": QUERY, "headers": {"Change-Reason": HOSTILE}}
    line.call("PUT", "alerting", "/v1/queries/hostile", **put).raise_for_status()
    changed = {**QUERY, "within": [{**QUERY["within"][0], "threshold": 0.31}]}
    headers = {"If-Match": '"1"', "Change-Reason": HOSTILE}
    line.call("PUT", "alerting", "/v1/queries/hostile", json=changed, headers=headers).raise_for_status()
    receiver = {"webhook": {"url": f"https://nowhere.invalid/{quote(HOSTILE)}?x={AREA}"}}
    line.call("PUT", "alerting", "/v1/receivers/hostile", json=receiver).raise_for_status()


def _happen(line: WatchedLine) -> None:
    """Have both sensors hear a bang, somebody take over the alert, and something be refused."""
    at_us = time.time_ns() // 1000 - 500_000
    heard = {"stream": "noise", "detected_at": at_us, "attributes": {HOSTILE: HOSTILE, "n": 1.23456789}}
    line.post([{"sensor": name, "id": f"{name}{at_us}", **heard} for name in SENSORS]).raise_for_status()
    line.post([{"sensor": f"{HOSTILE} unknown", **heard}, {"sensor": SENSORS[0], **heard, "stream": AREA}])
    line.post_1987()
    until(lambda: bool(line.items("alerts")) and bool(line.items("episodes")))
    [alert] = line.items("alerts")
    took = {"by": HOSTILE, "why": AREA}
    line.call("POST", "alerting", f"/v1/alerts/{alert['id']}/acknowledge", json=took).raise_for_status()
    until_us = time.time_ns() // 1000 + 3_600_000_000
    silence = {"matchers": {"area": "nowhere*"}, "until": until_us, **took}
    line.call("POST", "alerting", "/v1/silences", json=silence).raise_for_status()


@pytest.fixture(scope="module")
def runs(line: WatchedLine) -> list[str]:
    """Two runs over history that differ, and one that learns."""
    made = []
    for threshold in (0.31, 0.9):
        query = {**QUERY, "within": [{**QUERY["within"][0], "threshold": threshold}], "id": "hostile"}
        asked = {"query": query, "from": time.time_ns() // 1000 - 600_000_000, "to": time.time_ns() // 1000}
        made.append(line.call("POST", "alerting", "/v1/history-runs", json=asked).json()["run"])
    until(lambda: all(each["state"] == "done" for each in line.items("history-runs")))
    learning = {"from": time.time_ns() // 1000 - 600_000_000, "to": time.time_ns() // 1000, "area": AREA}
    made.append(line.call("POST", "alerting", "/v1/learning-runs", json=learning).json()["run"])
    until(lambda: all(each["state"] == "done" for each in line.items("learning-runs")))
    return made


@pytest.fixture(scope="module")
def console(line: WatchedLine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    folder = tmp_path_factory.mktemp("console")
    with running_console(folder, line, fusion_url=line.url("fusion")) as console:
        yield console


def address_of(name: str, line: WatchedLine, runs: list[str]) -> str:
    match = next(each["id"] for each in line.items("matches", query="hostile"))
    return {
        "now": "/",
        "now-evidence": f"/?match={match}",
        "queries": "/queries",
        "queries-one": "/queries?query=hostile",
        "queries-new": "/queries?new=",
        "sensors": f"/sensors?{urlencode({'area': AREA})}",
        "sensors-one": f"/sensors?{urlencode({'sensor': SENSORS[0]})}",
        "sensors-new": "/sensors?new=",
        "alerts": "/alerts",
        "health": "/health",
        "history": "/history",
        "history-compare": f"/history?run={runs[0]}&with={runs[1]}",
        "history-learnt": f"/history?learning={runs[2]}",
    }[name]


#: Each page, and the text of others that one sees on it.
PAGES = {
    "now": AREA,
    "now-evidence": HOSTILE,
    "queries": "hostile",
    "queries-one": "within[0].threshold: 0.3 → 0.31",
    "queries-new": "New query",
    "sensors": SENSORS[1],
    "sensors-one": f"{HOSTILE}: {HOSTILE}",
    "sensors-new": "New sensor",
    "alerts": f"by {HOSTILE}: {AREA}",
    "health": f"{HOSTILE} unknown",
    "history": "hostile",
    "history-compare": AREA,
    "history-learnt": SENSORS[1],
}


@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_it_and_no_text_is_markup(
    open_page: OpenPage, line: WatchedLine, runs: list[str], name: str
) -> None:
    page = open_page(address_of(name, line, runs))
    expect(page.locator(".content")).to_contain_text(PAGES[name])
    if name == "queries-one":
        page.get_by_role("button", name="JSON").click()
        expect(page.locator(".cm-content")).to_contain_text(IMAGE)
        expect(page.locator(".cm-content")).to_have_attribute(
            "aria-label", re.compile(".")
        )  # it is equipped a bit later
    page.wait_for_load_state("networkidle")
    charts = page.locator(".chart")
    if name == "history-compare":
        expect(charts.locator("svg")).to_have_count(2)
    for chart in charts.all():
        chart.hover()  # what ECharts says of it is markup
    shoot(page, f"every-{name}")
    faults = list(faults_of(page))
    assert not faults, "\n".join(faults)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0


#: Each page, and what it says where there is nothing yet.
EMPTY = {
    "/": "Nothing has been seen yet",
    "/queries": "Nothing is asked yet",
    "/sensors": "No sensor is here",
    "/alerts": "Nothing to tell",
    "/health": "Nothing was refused",
    "/history": "Runs over history cannot be asked for",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a console over a line on which nothing is declared, and that nobody can use without a key."""
    with (
        running_line(tmp_path_factory.mktemp("bare"), is_bare=True, needs_key=True) as line,
        running_console(tmp_path_factory.mktemp("bare-console"), line) as console,
    ):
        yield f"{console.url} {line.keys.make('ann', ['admin'])}"


def test_an_empty_system_says_on_each_page_what_to_do_first(open_page: OpenPage, bare: str) -> None:
    url, key = bare.split()
    page = open_page("/", url=url)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    faults = [f"sign-in: {each}" for each in faults_of(page)]
    page.get_by_label("Key").fill(key)
    with opened_anew(page):
        page.get_by_role("button", name="Sign in").click()
    for path, words in EMPTY.items():
        page.goto(url + path)
        expect(page.locator(".content")).to_contain_text(words)
        shoot(page, f"empty-{path.strip('/') or 'now'}")
        faults += [f"{path}: {each}" for each in faults_of(page)]
    page.goto(f"{url}/queries?query=nobody")
    expect(page.get_by_role("alert")).to_contain_text("nobody")
    faults += [f"error: {each}" for each in faults_of(page)]
    assert not faults, "\n".join(faults)
