"""The page Health in a real browser, over the real line: what is wrong now, rates, and what was refused."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import shoot
from tests.console.watched_line import WatchedLine
from tests.integration.service_process import ServiceProcess
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
WELL = "Every part answers, and no alert of the system fires."


@pytest.fixture
def line(watched: WatchedLine) -> WatchedLine:
    """The line whose fusion can be looked at."""
    return watched


@pytest.fixture
def console(console_of_watched: ServiceProcess) -> ServiceProcess:
    return console_of_watched


def verdict(page: Page) -> Locator:
    return page.get_by_label("What is wrong now")


def station(page: Page, name: str) -> Locator:
    return page.locator(".station", has=page.get_by_role("heading", name=name, exact=True)).first


def figure(page: Page, of: str, name: str) -> Locator:
    """Return the words of one figure of a station."""
    rows = station(page, of).locator("dl > div")
    return rows.filter(has=page.locator("dt", has_text=re.compile(f"^{name}$"))).locator("dd")


def post(line: WatchedLine, count: int = 20, **fields: Any) -> Any:
    now_us = time.time_ns() // 1000
    made = {"sensor": "mic-1", "stream": "noise", **fields}
    items = [{**made, "detected_at": now_us - each} for each in range(count)]
    return line.post(items)


def test_a_line_that_works_says_so_with_its_rates(open_page: OpenPage, line: WatchedLine) -> None:
    page = open_page("/health")
    until(lambda: post(line).is_success and "a second" in station(page, "Ingest").inner_text())
    expect(verdict(page)).to_contain_text(WELL)
    for name in ("Gateways", "Ingest", "Kafka", "Fusion", "Alerting", "People"):
        expect(station(page, name)).to_contain_text("Well")
    expect(figure(page, "Fusion", "lag")).to_have_text("0 records")
    expect(figure(page, "Fusion", "a batch takes")).to_have_text("250 ms")
    expect(figure(page, "Ingest", "taken")).to_have_attribute("title", re.compile(r"\d+ in \d+"))
    shoot(page, "health")


def test_a_fusion_that_stalls_is_the_sentence_until_it_goes_on(open_page: OpenPage, line: WatchedLine) -> None:
    page = open_page("/health")
    expect(verdict(page)).to_contain_text(WELL)
    line.stall(for_s=3_700)
    post(line, 40)
    post(line, 40)
    expect(verdict(page)).to_contain_text(
        re.compile(r"Fusion is not ready: the query has shown no sign of life for 37\d\d s")
    )
    expect(figure(page, "Fusion", "lag")).to_have_text("2 records")
    advice = verdict(page).get_by_role("link", name="docs/how-to/answer-an-alert.md, “What repairs itself”")
    expect(advice).to_have_attribute(
        "href", re.compile(r"https://docs\.example/site/how-to/answer-an-alert\.html#what-repairs-itself")
    )
    expect(station(page, "Fusion")).to_contain_text("Wrong")
    expect(station(page, "Ingest")).to_contain_text("Well")
    shoot(page, "health-stalled")
    line.go_on()
    expect(verdict(page)).to_contain_text(WELL)
    expect(station(page, "Fusion")).to_contain_text("Well")


def test_what_is_killed_is_unknown_and_comes_back(open_page: OpenPage, line: WatchedLine) -> None:
    open_page.faults.expected.append("ERR_CONNECTION_REFUSED")  # type: ignore[attr-defined]
    page = open_page("/health")
    expect(verdict(page)).to_contain_text(WELL)
    line.end_fusion()
    expect(verdict(page)).to_contain_text("Fusion does not answer (nobody listens there): no match is found meanwhile.")
    expect(figure(page, "Fusion", "lag")).to_have_text("unknown")
    expect(figure(page, "Fusion", "detections")).to_have_text("unknown")
    line.end("ingest")
    expect(verdict(page).get_by_role("status")).to_contain_text("Ingest does not answer")
    expect(verdict(page).get_by_role("listitem")).to_contain_text("Fusion does not answer")
    shoot(page, "health-two-are-away")
    line.begin("ingest")
    expect(verdict(page).get_by_role("status")).to_contain_text("Fusion does not answer")
    line.begin_fusion()
    expect(verdict(page)).to_contain_text(WELL)


def test_what_was_refused_is_told_by_reason_and_is_never_markup(open_page: OpenPage, line: WatchedLine) -> None:
    hostile = "<img src=x onerror=window.hacked=1>"
    post(line, 3, sensor=hostile)
    post(line, 1, stream='"><script>window.hacked=2</script>')
    page = open_page("/health", width=380)
    refused = page.get_by_label("Refused and too late")
    row = refused.locator("tr", has_text="unknown_sensor")
    expect(row).to_contain_text("3")
    expect(row).to_contain_text(hostile)
    row.get_by_text("Record").click()
    expect(row.locator("pre:visible")).to_contain_text(hostile)
    expect(refused.locator("tr", has_text="unknown_stream")).to_contain_text("window.hacked=2")
    assert page.evaluate("window.hacked") is None
    shoot(page, "health-phone")
    refused.get_by_label("Refused by").select_option("fusion")
    expect(refused).to_contain_text("Nothing was refused")
