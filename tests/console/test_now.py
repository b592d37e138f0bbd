"""The page Now in a real browser, over the real line: what happened in 1987, what happens now, and why."""

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from coincide import Histogram
from services.demo.sn1987a import bursts, posts
from services.ingest.registry.sensors import Sensor
from tests.console.conftest import painted, shoot, until_chart
from tests.console.line import Line
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
MICS = {"mic-1", "mic-2", "mic-3"}


def now_us() -> int:
    return time.time_ns() // 1000


def report(line: Line, sensor: str, at_us: int, stream: str = "noise", **fields: Any) -> None:
    """Post what a microphone heard."""
    line.post([{"sensor": sensor, "stream": stream, "detected_at": at_us, **fields}]).raise_for_status()


def bang(line: Line) -> int:
    """Have two microphones hear the same; return when."""
    at_us = now_us() - 500_000
    report(line, "mic-1", at_us)
    report(line, "mic-3", at_us)
    return at_us


def test_a_newcomer_is_led_to_what_happened_in_1987(open_page: OpenPage, line: Line) -> None:
    page = open_page()
    expect(page.get_by_role("heading", level=1)).to_have_text("Now")
    story = page.locator(".moment", has_text="sn1987a")
    expect(story).to_contain_text("What baksan, imb and kamiokande-ii saw may have happened together on 1987-02-23")
    expect(story).to_contain_text("One event, 97.8 %.")
    expect(story.locator(".moment-words")).to_have_attribute(
        "title", re.compile(r"^1987-02-23 .*, probability 0\.\d+$")
    )
    story.get_by_role("link").click()
    page.wait_for_url(re.compile(r"from=1987-02-23T07.*query=supernova"))
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"^1987-02-23 08:3\d:\d\d to 08:3\d:\d\d$"))
    until_chart(page, "[...scene.matches.values()].filter((each) => scene.shows(each)).length === 1")
    there = painted(page)
    detections = sum(len(body.splitlines()) for body in (*posts().values(), bursts()))
    assert there["detections"] >= detections  # those of the harbour are drawn with them
    assert not there["follows"]
    begin = datetime(1987, 2, 23, 7, 35, tzinfo=UTC).timestamp() * 1e6
    assert there["from"] < begin + 60e6 < there["to"]
    rows = page.locator("table.plain tbody tr:visible")
    expect(rows).to_contain_text(["supernova: 1 match"])
    rows.get_by_role("button", name="Evidence").click()
    panel = page.get_by_role("complementary", name="Evidence")
    panel.get_by_role("button", name="one event, 97.8 %").click()
    expect(panel).to_contain_text(
        "The clock of kamiokande-ii was 6.36 s slow; with 90 % between 2.24 s fast and 15 s slow."
    )
    expect(panel).to_contain_text("How often events come, how well they are heard and how much else is reported")
    shoot(page, "now-1987")
    page.get_by_label("Query").select_option("")
    until_chart(page, "scene.matches.size > 900")


def test_what_happens_is_drawn_as_it_happens(open_page: OpenPage, line: Line) -> None:
    page = open_page()
    until_chart(page, "scene.rows.length > 5")
    page.wait_for_timeout(500)
    before = painted(page)
    bang(line)
    until_chart(page, f"scene.matches.size > {before['matches']}")
    after = painted(page)
    assert after["follows"]
    assert {"harbour", "bang", "mic-1", "mic-2", "mic-3"} <= set(after["rows"])
    assert after["episodes"] >= 1
    expect(page.locator(".moment", has_text="harbour")).to_contain_text(
        "What mic-1 and mic-3 saw may have happened together"
    )
    shoot(page, "now-live")


def test_a_single_detection_is_drawn_and_a_pause_holds_it_back(open_page: OpenPage, line: Line) -> None:
    page = open_page()
    until_chart(page, "scene.detections.size > 0")
    pause = page.get_by_role("button", name="Pause: draw nothing new for a while")
    pause.click()
    expect(pause).to_have_attribute("aria-pressed", "true")
    before = painted(page)
    report(line, "mic-2", now_us())
    page.wait_for_timeout(2500)  # more than a look at ingest takes
    assert painted(page)["detections"] == before["detections"]
    pause.click()
    until_chart(page, f"scene.detections.size > {before['detections']}")


def test_the_evidence_says_why(open_page: OpenPage, line: Line) -> None:
    bang(line)
    match = line.call("GET", "alerting", "/v1/matches", params={"query": "bang", "limit": 1}).json()["items"][0]
    page = open_page(f"/?match={match['id']}")
    panel = page.get_by_role("complementary", name="Evidence")
    expect(panel).to_contain_text("mic-1 + mic-3")
    expect(panel).to_contain_text(
        re.compile(r"By their clocks, the times of mic-1 and mic-3 lie within the windows? of bang with 9\d\.\d %")
    )
    expect(panel).to_contain_text("Whether it is one event is told as soon as no later report can be of it.")
    expect(panel).to_contain_text("30 % is needed")
    expect(panel).to_contain_text("is the most that can be")
    expect(panel).to_contain_text("happened most likely")
    expect(panel.locator("svg rect.density").first).to_be_visible()
    expect(panel.locator("svg rect.occurred")).to_have_count(1)
    expect(panel.locator("svg rect.onset")).to_have_count(80)  # when both heard it, as a density
    panel.get_by_text("Raw record").click()
    expect(panel.locator("pre:visible")).to_contain_text(match["id"])
    shared = panel.get_by_role("button", name="Copy link").get_attribute("data-address")
    assert shared
    assert match["id"] in shared
    shoot(page, "now-evidence")
    again = open_page(shared)
    expect(again.get_by_role("complementary", name="Evidence")).to_contain_text("mic-1 + mic-3")
    until_chart(again, f"scene.matches.has('{match['id']}')")


def test_a_hover_and_a_click_tell_of_what_is_under_the_pointer(open_page: OpenPage, line: Line) -> None:
    at_us = bang(line)
    page = open_page("/?span=20")
    until_chart(page, "scene.detections.size > 0")
    page.get_by_role("button", name="Pause: draw nothing new for a while").click()
    page.wait_for_timeout(600)
    spot = page.evaluate(
        """(at) => {
            const chart = document.querySelector(".timeline").chart;
            const row = chart.scene.rowOf.get("harbour\\nmic-1");
            const box = chart.canvas.getBoundingClientRect();
            const x = chart.gutter + ((at - chart.from) / chart.span) * (chart.width - chart.gutter);
            return {x: box.left + x, y: box.top + 42 + row.y + row.height / 2};
        }""",
        at_us,
    )
    page.mouse.move(spot["x"], spot["y"])
    tip = page.locator(".timeline-tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("mic-1")
    expect(tip).to_contain_text("happened most likely at most 300 ms before")
    page.mouse.click(spot["x"], spot["y"])
    panel = page.get_by_role("complementary", name="Evidence")
    expect(panel).to_contain_text("It may have happened together with")
    panel.get_by_role("button", name=re.compile("mic-3")).first.click()
    expect(panel).to_contain_text("mic-1 + mic-3")


def test_moving_and_zooming_stand_in_the_address(open_page: OpenPage) -> None:
    page = open_page()
    until_chart(page, "frames > 0")
    span = painted(page)["to"] - painted(page)["from"]
    page.locator(".timeline canvas").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(r"from=20\d\d-"))
    page.keyboard.press("+")
    until_chart(page, f"span < {span * 0.8}")
    page.wait_for_timeout(600)
    there, address = painted(page), page.url
    assert not there["follows"]
    page.goto(address)
    until_chart(page, "frames > 0")
    assert painted(page)["from"] == pytest.approx(there["from"], abs=2)
    page.locator(".timeline canvas").focus()
    page.keyboard.press("End")
    until_chart(page, "follows")
    page.wait_for_url(re.compile(r"/\?span="))


def lanes(page: Page) -> list[str]:
    script = "document.querySelector('.timeline').chart.scene.rows.filter((each) => each.kind === 'lane')"
    return list(page.evaluate(f"{script}.map((each) => each.label)"))


def test_keys_choose_what_a_pointer_can(open_page: OpenPage, line: Line) -> None:
    bang(line)
    page = open_page("/?span=20")
    until_chart(page, "scene.matches.size > 0")
    page.get_by_role("button", name="Pause: draw nothing new for a while").click()
    page.locator(".timeline canvas").focus()
    panel, told = page.get_by_role("complementary", name="Evidence"), []
    for key in ("n", "n", "n", "p"):
        page.keyboard.press(key)
        until_chart(page, "chart.chosen !== null && chart.chosen.id === chart.stepped")
        told.append(panel.inner_text())
    assert len(set(told)) == 3
    assert told[3] == told[1]
    for key in ("n", "p", "n"):  # at once
        page.keyboard.press(key)
    until_chart(page, "chart.chosen.id === chart.stepped")
    expect(panel).to_have_text(told[2], use_inner_text=True)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_a_chosen_detection_stands_in_the_address(open_page: OpenPage, line: Line) -> None:
    at_us = now_us()
    hermit = {"area": "attic", "streams": {"noise": {"uniform": [-1, 0]}}}  # what others hear matches nothing there
    line.call("PUT", "ingest", "/v1/sensors/hermit", json=hermit).raise_for_status()
    report(line, "hermit", at_us, id="alone")
    page = open_page("/?span=20")
    key = f"attic\nhermit\nnoise\nalone\n{at_us}"
    known = f"[...scene.detections.keys()].includes({json.dumps(key)})"
    until_chart(page, known)
    page.evaluate(
        """(key) => {
        const {chart} = document.querySelector(".timeline");
        chart.tellPick({kind: "detection", thing: chart.scene.detections.get(key)});
    }""",
        key,
    )
    page.wait_for_url(re.compile("detection=attic%0Ahermit%0Anoise%0Aalone%0A"))
    again = open_page(page.url[page.url.index("/?") :])
    panel = again.get_by_role("complementary", name="Evidence")
    expect(panel).to_contain_text("noise in attic, seen")
    expect(panel).to_contain_text("It is in no match")
    until_chart(again, f"chart.chosen?.id === {json.dumps(key)}")
    again.goto(page.url.partition("/?")[0] + "/?detection=%3Cb%3E")
    expect(panel.get_by_role("alert")).to_contain_text("there is no detection '<b>'")


def test_a_sensor_that_reads_numbers_has_a_curve(open_page: OpenPage, line: Line) -> None:
    boiler = {"area": "plant", "streams": {"acoustic": {"uniform": [-1, 0]}}}
    line.call("PUT", "ingest", "/v1/sensors/boiler", json=boiler).raise_for_status()
    at_us = now_us() - 5_000_000
    for nth, celsius in enumerate((78.5, 80.25, 79)):
        attributes = {"celsius": celsius, "valve": "open", "is_on": True}
        report(line, "boiler", at_us + nth * 1_000_000, "acoustic", id=f"r{nth}", attributes=attributes)
    page = open_page(f"/?detection=plant%0Aboiler%0Aacoustic%0Ar1%0A{at_us + 1_000_000}")
    panel = page.get_by_role("complementary", name="Evidence")
    expect(panel.get_by_role("img", name="celsius: 78.5 to 80.25, 3 readings")).to_be_visible()
    expect(panel.locator("svg.reading-curve")).to_have_count(1)
    points = panel.locator("svg.reading-curve path").get_attribute("d") or ""
    heights = [float(each.split()[1]) for each in points.removeprefix("M").split(" L")]
    assert heights[1] < heights[2] < heights[0]
    shoot(page, "now-curve")
    line.registry.apply({"boiler": None})


def test_a_sample_says_so_and_only_where_it_is_one(open_page: OpenPage) -> None:
    page = open_page("/?span=60")
    until_chart(page, "frames > 0")
    page.evaluate("""() => {
        const {chart} = document.querySelector(".timeline");
        const seen = (nth) => ["harbour", "mic-1", "noise", `sampled-${nth}`, chart.now - 30e6 + nth * 1e3, null];
        chart.merge({detections: Array.from({length: 3 * chart.scene.mostDetections}, (_, nth) => seen(nth))});
    }""")
    note = page.locator(".timeline-note")
    expect(note).to_contain_text("This shows a sample of the detections")
    expect(note).to_contain_text("are left out")
    shoot(page, "now-sample")
    page.evaluate("""() => {
        const {chart} = document.querySelector(".timeline");
        chart.leave();
        chart.setRange(chart.from - 3600e6, chart.to - 3600e6);
    }""")
    expect(note).to_be_hidden()


def test_filters_narrow_the_lanes_and_places_order_them(open_page: OpenPage) -> None:
    page = open_page()
    until_chart(page, "scene.rows.length > 5")
    page.get_by_label("Order").select_option("place")
    until(lambda: [each for each in lanes(page) if each in MICS] == ["mic-3", "mic-2", "mic-1"])  # from north to south
    page.get_by_label("Sensor").fill("*-2")
    until(lambda: lanes(page) == ["mic-2"])
    page.get_by_label("Sensor").fill("mic-")
    until(lambda: set(lanes(page)) == MICS)
    page.wait_for_url(re.compile(r"sensor=mic-&order=place"))
    shoot(page, "now-filtered")
    page.reload()
    until_chart(page, "scene.rows.length > 0")
    until(lambda: set(lanes(page)) == MICS)
    page.get_by_label("Sensor").fill("")
    page.get_by_label("Area").select_option("sn1987a")
    until(lambda: lanes(page) == ["baksan", "imb", "kamiokande-ii"])
    page.wait_for_url(re.compile("area=sn1987a"))


def test_many_areas_leave_the_timeline_in_the_first_screen_and_the_way_to_1987(open_page: OpenPage, line: Line) -> None:
    area = {"streams": {"noise": {"uniform": [-1, 0]}}}
    names = [f"yard-{nth}-{side}" for nth in range(8) for side in "ab"]
    for name in names:
        body = {**area, "area": name.rpartition("-")[0]}
        line.call("PUT", "ingest", f"/v1/sensors/{name}", json=body).raise_for_status()
    try:
        at_us = now_us() - 500_000
        for name in names:
            report(line, name, at_us)
        until(lambda: len({each["area"] for each in line.items("episodes")}) > 8)
        page = open_page()
        fold = page.get_by_text(re.compile(r"^\d+ more areas, back to 1987-02-23$"))
        expect(fold).to_be_visible()
        canvas = page.locator(".timeline canvas")
        box = canvas.bounding_box()
        assert box is not None
        assert box["y"] < 430  # of 860
        shoot(page, "now-many-areas")
        fold.click()
        expect(page.locator(".moment", has_text="yard-3")).to_be_visible()
        shoot(page, "now-many-areas-open")
        page.locator(".moment", has_text="sn1987a").get_by_role("link", name="Show 1987-02-23").click()
        page.wait_for_url(re.compile(r"from=1987-02-23T07"))
    finally:
        line.registry.apply(dict.fromkeys(names))


def test_nothing_of_a_sensor_is_read_as_markup(open_page: OpenPage, line: Line) -> None:
    hostile = '<img src=x onerror="window.hacked=1">${window.hacked=2}{{window.hacked=3}}'
    at_us = now_us() - 400_000
    attributes = {"said": hostile, "</script><script>window.hacked=4</script>": 1}
    report(line, "mic-1", at_us, id=f"{hostile}{at_us}", attributes=attributes)
    report(line, "mic-3", at_us, id=f"`;window.hacked=5;//{at_us}", attributes=attributes)
    until(lambda: "window.hacked" in line.call("GET", "alerting", "/v1/matches", params={"limit": 1}).text)
    match = line.call("GET", "alerting", "/v1/matches", params={"query": "bang", "limit": 1}).json()["items"][0]
    page = open_page(f"/?match={match['id']}")
    panel = page.get_by_role("complementary", name="Evidence")
    expect(panel).to_contain_text(hostile[hostile.index("${") :])
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0
    page.goto(
        page.url.split("?")[0]
        + "?query=%3Cimg%20src=x%20onerror=window.hacked=6%3E&area=%22:onclick=%22x&match=%3Cb%3E"
    )
    expect(page.get_by_role("alert")).to_contain_text("there is no match '<b>'")
    assert page.evaluate("window.hacked") is None


def test_names_of_sensors_and_areas_are_text_too(open_page: OpenPage, line: Line) -> None:
    name, area = "<img src=x onerror=window.hacked=1>", '"><script>window.hacked=2</script>'
    sensors = [Sensor(f"{name}{nth}", area, {"noise": Histogram.uniform(-1, 0)}) for nth in range(2)]
    before = line.registry.snapshot
    line.registry.apply({each.id: each for each in sensors})
    try:
        at_us = now_us() - 200_000
        for each in sensors:
            report(line, each.id, at_us)
        page = open_page()
        page.wait_for_function(
            "document.querySelector('.timeline')?.chart.scene.rows.some((each) => each.label.includes('onerror'))"
        )
        expect(page.locator("table.plain tbody")).to_contain_text(area)
        expect(page.locator(".moment", has_text="hacked=2")).to_be_visible()
        page.locator("tr", has_text=area).first.get_by_role("button", name="Evidence").click()
        expect(page.get_by_role("complementary", name="Evidence")).to_contain_text(area)
        assert page.evaluate("window.hacked") is None
        shoot(page, "now-hostile")
    finally:
        line.registry.apply({each.id: None for each in sensors})
    assert before.stamps.keys() == line.registry.snapshot.stamps.keys()


@pytest.fixture
def marked(line: Line) -> Iterator[str]:
    """An alert in an area and of a query of its own: nobody else's mark lies beside it."""
    porch = {"area": "porch", "streams": {"acoustic": {"uniform": [-1, 0]}}}
    for name in ("porch-1", "porch-2"):
        line.call("PUT", "ingest", f"/v1/sensors/{name}", json=porch).raise_for_status()
    query = {
        "from": {"a": "acoustic", "b": "acoustic"},
        "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.3}],
        "coalesce": {"gap_s": 5},
        "alert": {"severity": "critical", "title": "Bang in {area}"},
    }
    line.call("PUT", "alerting", "/v1/queries/porch", json=query).raise_for_status()
    at_us = now_us() - 500_000
    for name in ("porch-1", "porch-2"):
        report(line, name, at_us, "acoustic")
    until(lambda: bool(line.items("alerts", query="porch")))
    yield str(line.items("alerts", query="porch")[0]["id"])
    line.call("DELETE", "alerting", "/v1/queries/porch", headers={"If-Match": "*"}).raise_for_status()
    line.registry.apply({"porch-1": None, "porch-2": None})


def test_an_alert_is_a_mark_that_leads_to_its_evidence(open_page: OpenPage, marked: str) -> None:
    page = open_page("/?span=60")
    until_chart(page, f"scene.alerts.has({json.dumps(marked)})")
    page.get_by_role("button", name="Pause: draw nothing new for a while").click()
    page.wait_for_timeout(600)
    spot = page.evaluate(
        """(id) => {
        const {scene, canvas, gutter, from, span, width} = document.querySelector(".timeline").chart;
        const alert = scene.alerts.get(id);
        const box = canvas.getBoundingClientRect();
        const row = scene.rowOf.get(`area\\n${alert.area}`);
        const x = gutter + ((alert.at - from) / span) * (width - gutter);
        return {x: box.left + x, y: box.top + 42 + row.y + row.height - 8};
    }""",
        marked,
    )
    page.mouse.move(spot["x"], spot["y"])
    expect(page.locator(".timeline-tip")).to_contain_text("Bang in porch")
    shoot(page, "now-alert")
    page.mouse.click(spot["x"], spot["y"])
    panel = page.get_by_role("complementary", name="Evidence")
    expect(panel).to_contain_text("critical, firing")
    page.wait_for_url(re.compile("alert=a-"))
    panel.get_by_role("button", name="Show the episode behind it").click()
    expect(panel).to_contain_text("An episode of porch")
