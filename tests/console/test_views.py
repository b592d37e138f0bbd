"""The views that the documents show: each says its main thing, in light and in dark.

`make screenshots` has them keep the pictures, which are in docs/how-to/look-at-it.
"""

import io
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from coincide.wire.sensor_health import HealthRecord, SensorHealth, TemplateDrift
from services.console.pages.shown_range import ShownRange
from services.demo.harbour import microphones, reports
from tests.console.conftest import running_console
from tests.console.past import running_past
from tests.console.watched_line import WatchedLine, watched_line
from tests.integration.service_process import ServiceProcess
from tests.patience import until

#: In the check, what the pages say and how they look is judged by their own tests and by `test_every_page`.
pytestmark = [pytest.mark.slow, pytest.mark.night]
OpenPage = Callable[..., Page]
PICTURES = os.environ.get("COINCIDE_PICTURES")
TWO_OF_THREE = "sn1987a-two-of-three"
SUPERNOVA = "supernova"
COLOURS = 256
GROUNDS = {"light": "rgb(246, 247, 249)", "dark": "rgb(16, 21, 28)"}


class View(NamedTuple):
    """Where a view is, what it says, and which part of it stands at the top of its picture."""

    address: str
    words: str
    part: str = ""


VIEWS = {
    "now": View("/?span=90&area=harbour", "may have happened together"),
    "1987": View("/", "The clock of kamiokande-ii was 6.36 s slow"),  # of its match, as `address_of` says
    "evidence": View("/", "How well the times fit"),  # of a bang, as `address_of` says
    "queries": View("/queries", "neutrino + neutrino"),
    "query": View("/queries?query=bang", "What it can find", "The query"),
    "threshold": View(f"/queries?query={TWO_OF_THREE}", "These would", "Threshold"),
    "sensors": View("/sensors", "mic-2"),
    "sensor": View("/sensors?sensor=mic-2", "The template fits"),
    "alerts": View("/alerts", "Bang in harbour"),
    "history": View("/history?run={run}&with={other}", "In this run, beside"),
    "health": View("/health", "Every part answers, and no alert of the system fires."),
}


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedLine]:
    """The demo without Kafka and Spark: 1987, two minutes in a harbour, and all of it in an archive."""
    folder = tmp_path_factory.mktemp("line")
    with watched_line(folder) as line:
        line.post_1987()
        _play(line)
        _tell_of_sensors(line)
        _ring(line)
        with running_past(line, folder):
            yield line


@pytest.fixture(scope="module")
def console(line: WatchedLine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with running_console(tmp_path_factory.mktemp("console"), line, fusion_url=line.url("fusion")) as console:
        yield console


def _ring(line: WatchedLine) -> None:
    """Have two more bangs ring, and somebody take over the first of them."""
    query = "/v1/queries/bang"
    etag = line.call("GET", "alerting", query).headers["etag"]
    body = json.dumps({"alert": {"severity": "critical", "title": "Bang in {area}", "resolve_after_s": 600}})
    headers = {"If-Match": etag, "Content-Type": "application/merge-patch+json"}
    line.call("PATCH", "alerting", query, content=body, headers=headers).raise_for_status()
    until(lambda: line.call("GET", "alerting", query).json()["applied_version"] == 2)
    for count, ago_s in ((1, 18), (2, 5)):
        _bang(line, ago_s)
        until(partial(_are_as_many, line, count))
    took = {"by": "ann", "why": "looking at the crane"}
    first = line.items("alerts")[-1]["id"]
    line.call("POST", "alerting", f"/v1/alerts/{first}/acknowledge", json=took).raise_for_status()
    receiver = {"webhook": {"url": "https://hooks.example/harbour"}}
    line.call("PUT", "alerting", "/v1/receivers/harbour-master", json=receiver).raise_for_status()


def _are_as_many(line: WatchedLine, alerts: int) -> bool:
    return len(line.items("alerts")) >= alerts


def _bang(line: WatchedLine, ago_s: int) -> None:
    at_us = time.time_ns() // 1000 - ago_s * 1_000_000
    heard = [{"sensor": f"mic-{nth}", "stream": "noise", "detected_at": at_us + 90_000 * nth} for nth in (1, 2, 3)]
    line.post(heard).raise_for_status()


def _play(line: WatchedLine) -> None:
    """Post what the microphones heard in the last two minutes."""
    dice, now_s = random.Random(1987), time.time()
    for start_s in range(round(now_s) - 120, round(now_s) - 36, 12):
        heard = [each for each in reports(start_s, microphones(), dice) if each[0] < now_s]
        for reported_s, sensor in heard:
            line.post(
                [{"sensor": sensor, "stream": "noise", "detected_at": round(reported_s * 1e6)}]
            ).raise_for_status()


def _tell_of_sensors(line: WatchedLine) -> None:
    """Say of the sensors what fusion would: the template of one fits no longer."""
    now_us = time.time_ns() // 1000
    good, bad = [5] * 20, [1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10]
    told = {"mic-1": (good, 0.04, 0.8), "mic-2": (bad, 0.27, 1e-6), "mic-3": (good, 0.06, 0.4)}
    heard = []
    for sensor, (levels, distance, p_value) in told.items():
        drift = TemplateDrift(f"t-{0:016x}", errors=100, distance=distance, p_value=p_value, levels=levels)
        heard.append(SensorHealth(sensor, "noise", 0, now_us - 4_000_000, 0.0625, 0.01, drift))
    record = HealthRecord("harbour", 0, now_us, heard)
    line.registry.health.take(record.key, record.to_record())


def _done(line: WatchedLine, threshold: float) -> str:
    """Have a run done over 1987 with another threshold, and return its id."""
    query = line.call("GET", "alerting", f"/v1/queries/{TWO_OF_THREE}").json()["query"]
    query |= {"id": TWO_OF_THREE, "joint_threshold": threshold}
    asked = {"query": query, "from": "1987-02-23T07:30:00Z", "to": "1987-02-23T07:40:00Z", "min_threshold": 0.02}
    run = str(line.call("POST", "alerting", "/v1/history-runs", json=asked).json()["run"])
    until(lambda: line.call("GET", "alerting", f"/v1/history-runs/{run}").json()["state"] == "done")
    return run


def address_of(name: str, line: WatchedLine) -> str:
    address = VIEWS[name].address
    if name == "evidence":
        match = max(line.items("matches", query="bang"), key=lambda each: len(each["members"]))
        times = match["earliest_us"] - 2_000_000, match["latest_us"] + 4_000_000
        return ShownRange(*times, follows=False, area="harbour", chosen=("match", match["id"])).address()
    if name == "1987":
        [match] = line.items("matches", query=SUPERNOVA)
        shown = ShownRange(match["earliest_us"], match["latest_us"], follows=False, chosen=("match", match["id"]))
        return replace(shown, area="sn1987a", query=SUPERNOVA).address()
    return address.format(run=_done(line, 0.04), other=_done(line, 0.06)) if name == "history" else address


def look_at_thresholds(page: Page) -> None:
    card = page.get_by_label("Threshold").first
    card.get_by_label("Over").select_option("newest")
    card.get_by_role("button", name="Look").click()
    card.locator("input[type=range]").fill("0.1")
    expect(card).to_contain_text("These would go")


def look_at_rates(page: Page, line: WatchedLine) -> None:
    """Have a microphone report until the page knows of rates."""

    def reports_are_counted() -> bool:
        now_us = time.time_ns() // 1000
        line.post([{"sensor": "mic-1", "stream": "noise", "detected_at": now_us}]).raise_for_status()
        return len(page.locator(".station", has_text="a second").all()) >= 4

    until(reports_are_counted)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_says_its_main_thing_in_light_and_in_dark(open_page: OpenPage, line: WatchedLine, name: str) -> None:
    page = open_page(address_of(name, line), timezone_id="UTC", height=800)
    view = VIEWS[name]
    if name == "threshold":
        look_at_thresholds(page)
    if name == "health":
        look_at_rates(page, line)
    expect(page.locator(".content")).to_contain_text(view.words)
    if view.part:
        page.get_by_label(view.part).first.evaluate("(part) => scrollTo(0, part.getBoundingClientRect().top - 80)")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)  # figures come one by one, and lines are painted a quarter of a second late
    for theme, ground in GROUNDS.items():
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        page.wait_for_function(f"getComputedStyle(document.body).backgroundColor === '{ground}'")
        page.wait_for_timeout(400)
        keep(page, f"{name}-{theme}")


def keep(page: Page, name: str) -> None:
    """Keep a picture of few colours where COINCIDE_PICTURES names a folder."""
    if PICTURES:
        whole = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        few = whole.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(Path(PICTURES) / f"{name}.png", optimize=True)
