"""Tables with more rows than a page shows at once: queries that are not all counted, and alerts by the hundred."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page, expect

from services.alerting.records.alert import Alert, Step, alert_id
from services.alerting.store.alert_rows import ChangedAlert, store_alerts
from tests.console.conftest import running_console
from tests.console.line import Line, running_line

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
QUERY: dict[str, Any] = {
    "from": {"a": "neutrino", "b": "neutrino"},
    "within": [{"between": ["a", "b"], "window_s": 10, "threshold": 0.3}],
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Line, str]]:
    """A line on which nothing is declared, and its console's address."""
    folder = tmp_path_factory.mktemp("bare")
    with running_line(folder, is_bare=True) as line, running_console(folder, line) as console:
        yield line, console.url


@pytest.fixture(autouse=True)
def without_fusion(open_page: OpenPage) -> None:
    open_page.faults.expected.append("ERR_CONNECTION_REFUSED")  # type: ignore[attr-defined]


def test_more_queries_than_are_counted_say_so_and_the_list_keeps_the_focus(
    open_page: OpenPage, bare: tuple[Line, str]
) -> None:
    line, url = bare
    for nth in range(31):
        line.call("PUT", "alerting", f"/v1/queries/q-{nth:02}", json=QUERY).raise_for_status()
    page = open_page("/queries", url=url)
    rows = page.get_by_label("Queries", exact=True).locator("tbody tr")
    expect(rows).to_have_count(31)
    expect(rows.last).to_contain_text("not counted")
    expect(rows.nth(29)).not_to_contain_text("not counted")
    expect(page.get_by_text("The first 30 are counted.")).to_be_visible()
    link = page.get_by_role("link", name="q-07", exact=True)
    link.focus()
    line.call("PUT", "alerting", "/v1/queries/q-00b", json=QUERY).raise_for_status()
    expect(rows).to_have_count(32)
    expect(link).to_be_focused()


def test_all_alerts_are_listed_by_hundreds_and_those_that_fire_come_first(
    open_page: OpenPage, bare: tuple[Line, str]
) -> None:
    line, url = bare
    keep_alerts(line, firing=50, resolved=160)
    page = open_page("/alerts", url=url)
    page.locator(".page-head select").select_option("all")
    rows = page.get_by_label("Alerts", exact=True).locator("tbody tr")
    for shown in (100, 200, 210):
        expect(rows).to_have_count(shown)
        more = page.get_by_role("button", name="Show more")
        more.click() if shown < 210 else expect(more).to_have_count(0)
    states = ["Firing" in each for each in rows.all_inner_texts()]
    assert states == [True] * 50 + [False] * 160


def keep_alerts(line: Line, *, firing: int, resolved: int) -> None:
    """Have alerting keep alerts of a minute each, the resolved ones newest."""
    changed, now_us = [], time.time_ns() // 1000
    for nth in range(firing + resolved):
        at_us, state = now_us - 60_000_000 * (firing + resolved - nth), "firing" if nth < firing else "resolved"
        said = {"query": "q", "area": "here", "severity": "warning", "title": f"alert {nth}", "source": f"m-{nth}"}
        at = {"fired_at_us": at_us, "received_at_us": at_us, "start_us": at_us, "end_us": at_us}
        over = {"resolved_at_us": at_us + 1} if state == "resolved" else {}
        fields = {"id": alert_id("q", str(nth)), "kind": "match", "revision": 0, "probability": 0.9, "state": state}
        alert = msgspec.convert({**fields, **said, **at, **over}, Alert)
        changed.append(ChangedAlert(alert, [Step(alert.state, at_us, alert)]))
    with line.storing, line.database.engine.begin() as connection:
        store_alerts(connection, changed)
