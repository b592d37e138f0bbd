"""Services that go away for a while: the page says so, and goes on by itself when they are back."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import running_console, shoot, until_chart
from tests.console.line import Line
from tests.console.past import running_past
from tests.console.watched_line import WatchedLine
from tests.integration.service_process import ServiceProcess

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]


def bang(line: Line) -> None:
    at_us = time.time_ns() // 1000 - 200_000
    line.post([{"sensor": f"mic-{nth}", "stream": "noise", "detected_at": at_us} for nth in (1, 3)]).raise_for_status()


def expect_news(page: Page, path: str, name: str) -> None:
    """Wait until a page shows, with nobody's doing, what has come since the services are back."""
    if path == "/":
        until_chart(page, "scene.matches.size > 0 && scene.detections.size > 1")
        return
    news = {
        "/queries": page.get_by_label("Queries", exact=True).get_by_role("link", name=name, exact=True),
        "/sensors": page.get_by_label("Sensors", exact=True).get_by_role("link", name=name, exact=True),
        "/alerts": page.get_by_label("Receivers").get_by_text(name, exact=True),
        "/health": page.get_by_label("What is wrong now").get_by_text("no alert of the system fires"),
        "/history": page.get_by_label("Runs").get_by_role("link", name=name, exact=True),
    }
    expect(news[path].first).to_be_visible()


def make_news(line: Line, name: str) -> None:
    """Have something happen that each page shows."""
    bang(line)
    query = line.call("GET", "alerting", "/v1/queries/bang").json()["query"] | {"id": name}
    sensor = {"area": "harbour", "streams": {"noise": {"uniform": [-1, 0]}}}
    run = {"query": query, "from": "1987-02-23T07:35:00Z", "to": "1987-02-23T07:36:00Z"}
    made = [
        line.call("PUT", "alerting", f"/v1/queries/{name}", json=query),
        line.call("PUT", "ingest", f"/v1/sensors/{name}", json=sensor),
        line.call("PUT", "alerting", f"/v1/receivers/{name}", json={"webhook": {"url": "https://nowhere.invalid/"}}),
        line.call("POST", "alerting", "/v1/history-runs", json=run),
    ]
    assert [each.is_success for each in made] == [True] * 4, [each.text for each in made]


PATHS = ("/", "/queries", "/sensors", "/alerts", "/health", "/history")


def test_where_no_history_runs_its_page_says_how_to_start_it_and_then_opens_by_itself(
    open_page: OpenPage, watched: WatchedLine, console_of_watched: ServiceProcess, tmp_path: Path
) -> None:
    open_page.faults.expected.append("ERR_CONNECTION_REFUSED")  # type: ignore[attr-defined]
    page = open_page("/history", url=console_of_watched.url)
    expect(page.get_by_text("Runs over history cannot be asked for")).to_be_visible()
    expect(page.locator(".content")).to_contain_text("COINCIDE_ARCHIVE_PATH=.local/archive make up")
    expect(page.locator(".content")).to_contain_text("The history process does not answer")
    shoot(page, "history-off")
    with running_past(watched, tmp_path):
        expect(page.get_by_label("Runs")).to_contain_text("No run yet")


@pytest.fixture(scope="module")
def with_past(
    watched: WatchedLine, console_of_watched: ServiceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[WatchedLine, str]]:
    """The line with all that a page can ask, and its console's address."""
    watched.post_1987()
    with running_past(watched, tmp_path_factory.mktemp("past")):
        yield watched, console_of_watched.url


@pytest.mark.parametrize("component", ["alerting", pytest.param("ingest", marks=pytest.mark.night)])
def test_every_page_says_which_service_is_away_and_goes_on_by_itself(
    open_page: OpenPage, with_past: tuple[WatchedLine, str], component: str
) -> None:
    open_page.faults.expected += ["ERR_CONNECTION_REFUSED"]  # type: ignore[attr-defined]
    line, url = with_past
    pages = {path: open_page(path, url=url) for path in PATHS}
    until_chart(pages["/"], "scene.rows.length > 5")
    for page in pages.values():
        expect(page.locator(".content")).not_to_contain_text("Loading …")
    line.end(component)
    for path, page in pages.items():
        banner = page.locator(".banner")
        expect(banner, path).to_contain_text(f"{component} does not answer")
        expect(banner, path).to_contain_text("this page goes on by itself")
    shoot(pages["/"], f"away-{component}")
    meanwhile = {path: open_page(path, url=url) for path in PATHS}
    for page in meanwhile.values():
        expect(page.locator("body")).to_contain_text(re.compile(f"{component} does not answer", re.IGNORECASE))
        expect(page.locator(".content")).not_to_have_text(re.compile(r"^\s*(Loading …)?\s*$"))
    line.begin(component)
    name = f"after-{component}"
    make_news(line, name)
    for path in PATHS:
        expect(pages[path].locator(".banner")).to_be_hidden()
        expect_news(pages[path], path, name)
        expect_news(meanwhile[path], path, name)


def test_a_console_that_is_started_again_takes_its_pages_back(open_page: OpenPage, line: Line, tmp_path: Path) -> None:
    open_page.faults.expected.append("ERR_CONNECTION_REFUSED")  # type: ignore[attr-defined]
    with running_console(tmp_path, line) as first:
        page = open_page("/?area=harbour", url=first.url)
        until_chart(page, "scene.rows.length > 2")
        port = first.port
    expect(page.get_by_text("Connection lost.")).to_be_visible()
    with running_console(tmp_path, line, port=port):
        page.wait_for_function("!document.querySelector('#popup').matches('[aria-hidden=false]')")
        until_chart(page, "scene.rows.length > 2 && frames > 3")
        bang(line)
        until_chart(page, "scene.matches.size > 0")
        expect(page).to_have_url(re.compile("area=harbour"))
