"""Services that go away for a while: the page says so, and goes on by itself when they are back."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import running_console, shoot, until_chart
from tests.console.line import Line, running_line

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]


def bang(line: Line) -> None:
    at_us = time.time_ns() // 1000 - 200_000
    line.post([{"sensor": f"mic-{nth}", "stream": "noise", "detected_at": at_us} for nth in (1, 3)]).raise_for_status()


@pytest.mark.parametrize("component", ["alerting", "ingest"])
def test_a_service_goes_and_comes_back(open_page: OpenPage, tmp_path: Path, component: str) -> None:
    open_page.faults.expected.append("ERR_CONNECTION_REFUSED")  # type: ignore[attr-defined]
    with running_line(tmp_path) as line, running_console(tmp_path, line) as console:
        page = open_page("/", url=console.url)
        until_chart(page, "scene.rows.length > 5")
        line.end(component)
        banner = page.locator(".banner")
        expect(banner).to_be_visible()
        expect(banner).to_contain_text(f"{component} does not answer")
        expect(banner).to_contain_text("this page goes on by itself")
        shoot(page, f"away-{component}")
        opened_meanwhile = open_page("/", url=console.url)
        expect(opened_meanwhile.get_by_role("alert")).to_contain_text(f"{component} does not answer")
        line.begin(component)
        expect(banner).to_be_hidden()
        bang(line)
        until_chart(page, "scene.matches.size > 0 && scene.detections.size > 1")
        opened_meanwhile.get_by_role("link", name="Try again").click()
        until_chart(opened_meanwhile, "scene.matches.size > 0")


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
