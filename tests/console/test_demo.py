"""The console of the demo, with Kafka and Spark: what a newcomer sees in the first minute."""

import re
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, expect

from deploy.local.demo import show_1987
from deploy.local.system import HARBOUR, System
from tests.console.conftest import shoot, until_chart

pytestmark = pytest.mark.jvm
OpenPage = Callable[..., Page]


def test_1987_and_now_are_seen_within_a_minute(open_page: OpenPage, system: System) -> None:
    url = system.layout.url("console")
    at_root = httpx.get(system.layout.url("alerting"))
    assert (at_root.status_code, at_root.headers["location"]) == (307, f"{url}/")
    system.supervision.start_process(HARBOUR)
    try:
        show_1987(system)
        page = open_page("/", url=url)
        expect(page.locator(".moment", has_text="harbour")).to_contain_text("saw the same thing", timeout=60_000)
        shoot(page, "demo-now")
        page.locator(".moment", has_text="sn1987a").get_by_role("link", name="Show 1987-02-23").click()
        until_chart(page, "scene.matches.size > 900")
        shoot(page, "demo-1987")
        page.locator("tr", has_text="sn1987a-two-of-three").get_by_role("button", name="Evidence").click()
        expect(page.get_by_role("complementary")).to_contain_text(re.compile(r"\d+ matches in sn1987a within"))
        shoot(page, "demo-evidence")
    finally:
        system.supervision.stop_process(HARBOUR)


def test_a_console_that_is_killed_comes_back_to_its_page(open_page: OpenPage, system: System) -> None:
    open_page.faults.expected.append("ERR_CONNECTION_REFUSED")  # type: ignore[attr-defined]
    page = open_page("/?area=harbour", url=system.layout.url("console"))
    until_chart(page, "scene.rows.length > 2")
    page.evaluate("window.isOld = true")
    system.kill("console")
    system.wait_ready()
    page.wait_for_function("window.isOld === undefined", timeout=30_000)  # the page was opened anew, by itself
    until_chart(page, "scene.rows.length > 2")
    expect(page).to_have_url(re.compile(r"area=harbour$"))
