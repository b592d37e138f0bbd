"""Much to draw and many who look: what holds of it, whatever the machine is."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, expect

from benchmarks.console.full_view import DETECTIONS, FILL, MATCHES
from tests.console.conftest import painted, running_console, until_chart
from tests.console.line import Line, running_line
from tests.integration.service_process import ServiceProcess, metric

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
PAGES, RATE_HZ, PER_POST, SECONDS = 10, 1_000, 100, 15
STEPS, STEP_PIXELS = 60, 4


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[tuple[Line, ServiceProcess]]:
    """A line of ten sensors that no query asks for, and its console."""
    with running_line(tmp_path, is_bare=True) as line, running_console(tmp_path, line) as console:
        sensor = {"area": "crowd", "streams": {"noise": {"uniform": [-1, 0]}}}
        for nth in range(10):
            line.call("PUT", "ingest", f"/v1/sensors/crowd-{nth}", json=sensor).raise_for_status()
        yield line, console


def offer(line: Line) -> None:
    """Post at a rate, for so long."""
    with httpx2.Client(base_url=line.url("ingest"), timeout=30.0) as client:
        begun_s = time.monotonic()
        for post in range(SECONDS * RATE_HZ // PER_POST):
            time.sleep(max(0.0, begun_s + post * PER_POST / RATE_HZ - time.monotonic()))
            now_us = time.time_ns() // 1000
            items = [{"sensor": f"crowd-{nth % 10}", "detected_at": now_us - nth * 1000} for nth in range(PER_POST)]
            client.post("/v1/detections", json=items).raise_for_status()


def bounds_hold(page: Page) -> bool:
    script = """() => {
        const {scene} = document.querySelector(".timeline").chart;
        const kept = scene.detections.size + scene.leftOut.length;
        return scene.detections.size <= 2 * scene.mostDetections && kept < 100_000;
    }"""
    return bool(page.evaluate(script))


def test_each_step_over_a_full_view_is_drawn_and_moves_a_picture(open_page: OpenPage) -> None:
    page = open_page()
    until_chart(page, "frames > 0")
    page.evaluate(FILL)
    until_chart(page, f"!chart.isOld && chart.painted.detections === {DETECTIONS}")
    assert painted(page)["painted"] == {**painted(page)["painted"], "matches": MATCHES, "left": 0, "matchesLeft": 0}
    box = page.locator(".timeline canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + STEP_PIXELS, y)
    paints = page.evaluate("document.querySelector('.timeline').chart.paints")
    for nth in range(2, STEPS):
        before = painted(page)
        page.mouse.move(x + nth * STEP_PIXELS, y)
        until_chart(page, f"frames > {before['frames']} && chart.from < {before['from']}")
    page.mouse.up()
    painted_anew = page.evaluate("document.querySelector('.timeline').chart.paints") - paints
    # It moved a picture. What alerting keeps of these times came meanwhile, more often on a slow machine.
    assert painted_anew < STEPS // 4, painted_anew
    assert painted(page)["painted"]["detections"] == DETECTIONS


@pytest.mark.night
def test_ten_pages_keep_up_with_a_burst_and_say_what_they_leave_out(
    crowd: tuple[Line, ServiceProcess], open_page: OpenPage
) -> None:
    line, console = crowd
    pages = [open_page("/?span=60", url=console.url) for _ in range(PAGES)]
    for page in pages:
        until_chart(page, "frames > 0")
    with ThreadPoolExecutor(1) as pool:
        offered: Future[None] = pool.submit(offer, line)
        for page in pages:
            expect(page.locator(".timeline-note")).to_contain_text("a sample of the detections")
        while not offered.done():
            assert all(map(bounds_hold, pages))
        offered.result()
    last = {"sensor": "crowd-0", "stream": "noise", "id": "the last", "detected_at": time.time_ns() // 1000}
    line.post([last]).raise_for_status()
    for page in pages:
        page.set_default_timeout(60_000)  # ten pages with one core or two
        until_chart(page, "[...scene.detections.values()].some((each) => each.id === 'the last')")
        assert bounds_hold(page)
    assert metric(console.url, "coincide_console_live_connections") == 1
    assert metric(console.url, "coincide_console_viewers") == PAGES
    pages[0].evaluate("""() => {
        const {chart} = document.querySelector(".timeline");
        chart.leave();
        chart.setRange(chart.from - 3600e6, chart.to - 3600e6);
    }""")
    expect(pages[0].locator(".timeline-note")).to_be_hidden()
