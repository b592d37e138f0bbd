"""The page Sensors in a real browser: filter, open one, change it, add and remove one; and the streams."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from coincide import Histogram
from coincide.wire.declarations.template_proposal import TemplateForm, TemplateProposal
from coincide.wire.sensor_health import HealthRecord, SensorHealth, TemplateDrift
from services.alerting.records.records import TOPICS
from tests.console.conftest import opened_anew, shoot
from tests.console.line import Line
from tests.console.test_commands import reasons, run_copied
from tests.services.alerting.sample_records import match

pytestmark = pytest.mark.slow

OpenPage = Callable[..., Page]
_numbers = count(1)
HOSTILE = "<img src=x onerror=window.hacked=1>"
BUOY = {
    "area": "bay",
    "streams": {"noise": {"uniform": [-3, 1]}},
    "model": HOSTILE,
    "labels": {"owner": HOSTILE},
    "place": {"lat": 47.5, "lon": -3.0},
}


@pytest.fixture(scope="module", autouse=True)
def buoys(line: Line) -> Iterator[None]:
    """Two buoys in a bay; other modules find the sensors of the line as they were."""
    for name, lon in (("buoy-1", -3.0), ("buoy-2", -3.2)):
        document = {**BUOY, "place": {"lat": 47.5, "lon": lon}}
        line.call("PUT", "ingest", f"/v1/sensors/{name}", json=document).raise_for_status()
    yield
    line.registry.replace([line.sensors])


def known(line: Line, path: str) -> dict[str, Any]:
    return dict(line.call("GET", "ingest", f"/v1/{path}").json())


def test_sensors_are_listed_filtered_and_on_a_map(open_page: OpenPage) -> None:
    page = open_page("/sensors")
    rows = page.get_by_label("Sensors", exact=True).locator("tbody tr")
    expect(rows.filter(has_text="mic-1")).to_contain_text("harbour")
    page.get_by_label("Area").fill("bay")
    expect(rows).to_have_count(2)
    assert page.url.endswith("/sensors?area=bay")
    expect(rows.first).to_contain_text(HOSTILE)
    page.get_by_label("Map").get_by_label("buoy-2, silent").click()
    expect(page.get_by_role("heading", name="Sensor buoy-2")).to_be_visible()
    expect(page.get_by_label("What it is")).to_contain_text(f"owner: {HOSTILE}")
    assert page.evaluate("window.hacked") is None


def test_a_hall_has_a_plan_in_metres(open_page: OpenPage, line: Line) -> None:
    page = open_page("/sensors?new=")
    page.get_by_label("Name", exact=True).fill("hall-mic")
    page.get_by_label("Area").fill("hall")
    page.get_by_label("Reports").select_option("noise")
    page.get_by_label("Template of noise").select_option("point")
    page.get_by_label("Degrees north").fill("47.5")
    page.get_by_label("Place").select_option("frame")
    page.get_by_label("x, m").fill("12.5")
    page.get_by_label("y, m").fill("3 ft")
    page.get_by_role("button", name="Save").click()
    expect(at_field(page, "y, m")).to_contain_text("a number of metres: this is 0.91")
    page.get_by_label("y, m").fill("3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("What it is")).to_contain_text("at x 12.5 m, y 3 m in the area's frame")
    assert known(line, "sensors/hall-mic")["place"] == {"x_m": 12.5, "y_m": 3.0}
    page = open_page("/sensors?area=hall")
    expect(page.get_by_role("group", name="Plan of hall: 1 sensor").get_by_label("hall-mic, silent")).to_be_visible()
    shoot(page, "sensors-plan")
    line.call("DELETE", "ingest", "/v1/sensors/hall-mic", headers={"If-Match": "*"}).raise_for_status()


def at_field(page: Page, label: str) -> Locator:
    """Return what is said to be wrong with a field, beside it."""
    return page.locator(".field", has=page.get_by_label(label)).get_by_role("alert")


def test_what_is_wrong_is_said_at_its_field_and_a_template_is_drawn(open_page: OpenPage) -> None:
    page = open_page("/sensors?new=")
    save = page.get_by_role("button", name="Save")
    save.click()
    expect(at_field(page, "Name")).to_have_text("Give the sensor a name.")
    page.get_by_label("Name", exact=True).fill("mast")
    page.get_by_label("Area").fill("bay")
    page.get_by_label("Reports").select_option("noise")
    save.click()
    of_template = "Template of noise"
    expect(at_field(page, of_template)).to_have_text("Choose how late or wrong its reports are: the template of noise.")
    page.get_by_label(of_template).select_option("latency")
    expect(page.get_by_role("img", name="What it reports happened most likely")).to_be_visible()
    shoot(page, "sensors-new-latency")
    page.get_by_label(of_template).select_option("uniform")
    page.get_by_label("Earliest, s from the report").fill("soon")
    expect(page.get_by_text("This is no template: ")).to_contain_text("a number of seconds")
    page.get_by_label("Earliest, s from the report").fill("-99")
    save.click()
    expect(at_field(page, of_template)).to_contain_text("at most 10 s for stream noise")
    shoot(page, "sensors-new-refused")
    page.get_by_label("Earliest, s from the report").fill("-4")
    expect(page.get_by_role("img", name="What it reports happened at any time at most 4 s before")).to_be_visible()
    page.get_by_label("Tell somebody after a silence of, s").fill("-5")
    save.click()
    expect(at_field(page, "Tell somebody after a silence of, s")).to_contain_text(
        "“Tell somebody after a silence of, s”: a number above 0"
    )
    page.set_viewport_size({"width": 380, "height": 860})
    shoot(page, "sensors-new-refused-380")


#: What somebody types into which field, and what is said there.
FAULTS = [
    ("Name", "hall/mic", "Give the sensor a name without “/”"),
    ("Name", "..", "Give the sensor a name without “/”"),
    ("Name", "mic\u202e", "“Name”: a text without control characters"),
    ("Labels (name=value, ...)", "=", "a name in labels: a text of at least 1 character is allowed"),
]


def test_what_is_wrong_with_a_name_is_said_at_its_field(open_page: OpenPage) -> None:
    page = open_page("/sensors?new=")
    page.get_by_label("Name", exact=True).fill("named")
    page.get_by_label("Area", exact=True).fill("hall")
    page.get_by_label("Reports").select_option("noise")
    page.get_by_label("Template of noise").select_option("point")
    for field, typed, said in FAULTS:
        entry = page.get_by_label(field, exact=True)
        before = entry.input_value()
        entry.fill(typed)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".field", has=entry).locator("> .field-fault")).to_contain_text(said)
        entry.fill(before)


def test_a_sensor_is_added_changed_and_removed(open_page: OpenPage, line: Line) -> None:
    page = open_page("/sensors?new=")
    page.get_by_label("Name", exact=True).fill("mast")
    page.get_by_label("Area").fill("bay")
    page.get_by_label("Reports").select_option("noise")
    page.get_by_label("Template of noise").select_option("uniform")
    page.get_by_label("Earliest, s from the report").fill("-4")
    page.get_by_label("Model").fill("M-1")
    page.get_by_label("Degrees north").fill("47.6")
    page.get_by_label("Degrees east").fill("-3.1")
    page.get_by_label("Labels (name=value, ...)").fill("site=north")
    shoot(page, "sensors-new")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Sensor mast")).to_be_visible()
    expect(page.get_by_label("Stream noise")).to_contain_text("happened at any time at most 4 s before")
    made = known(line, "sensors/mast")
    assert (made["model"], made["labels"], made["place"]["lat"]) == ("M-1", {"site": "north"}, 47.6)

    form = page.get_by_label("Change it")
    form.get_by_label("Template of noise").select_option("normal")
    form.get_by_label("Tell somebody after a silence of, s").fill("600")
    form.get_by_label("Why (for the audit trail)").fill("another microphone")
    with opened_anew(page):
        form.get_by_role("button", name="Save").click()
    changed = known(line, "sensors/mast")
    assert changed["expect_every_s"] == 600
    assert changed["streams"] != made["streams"]
    removal = page.get_by_role("group", name="Removal")
    page.get_by_role("button", name="Remove this sensor").click()
    removal.get_by_label("Why (for the audit trail)").fill("not meant")
    removal.get_by_role("button", name="Leave it").click()
    expect(removal).to_be_empty()
    page.get_by_role("button", name="Remove this sensor").click()
    removal.get_by_role("button", name="Remove it for good").click()
    expect(page.get_by_role("heading", name="Sensors")).to_be_visible()
    assert line.call("GET", "ingest", "/v1/sensors/mast").status_code == 404
    whys = [each["why"] for each in line.keys.changes if each["subject"] == "mast"]
    assert whys == [None, "another microphone", None]


@pytest.fixture
def named(line: Line) -> Iterator[str]:
    """A template that two buoys follow; its name, and so its version, is no other's."""
    template = f"slow-{next(_numbers)}"
    line.call("PUT", "ingest", f"/v1/templates/{template}", json={"uniform": [-3, 0]}).raise_for_status()
    for name in ("follows-1", "follows-2"):
        document = {"area": "bay", "streams": {"noise": template}}
        line.call("PUT", "ingest", f"/v1/sensors/{name}", json=document).raise_for_status()
    yield template
    for name in ("follows-1", "follows-2"):
        line.registry.apply({name: None})
    line.call("DELETE", "ingest", f"/v1/templates/{template}", headers={"If-Match": "*"})


def test_a_template_is_changed_by_its_name_for_all_that_follow_it(open_page: OpenPage, line: Line, named: str) -> None:
    page = open_page("/sensors", permissions=["clipboard-read", "clipboard-write"])
    table = page.get_by_label("Templates", exact=True)
    row = table.locator("tr", has_text=named)
    expect(row).to_contain_text("happened at any time at most 3 s before")
    expect(row.locator("td").nth(2)).to_have_text("1")
    expect(row.locator("td").nth(3)).to_have_text("2 sensors")
    row.get_by_role("button", name="Change").click()
    row.get_by_label("in seconds from the report").fill('{"uniform": [-99, 0]}')
    row.get_by_role("button", name="Save").click()
    expect(row.get_by_role("alert")).to_contain_text("at most 10 s for stream noise")
    row.get_by_label(f"Template {named}").select_option("uniform")
    expect(row.get_by_label("Earliest, s from the report")).to_have_value("-1")
    row.get_by_label("Earliest, s from the report").fill("-5")
    row.get_by_label("Why (for the audit trail)").fill("another cable")
    shoot(page, "sensors-template")
    row.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("happened at any time at most 5 s before")
    expect(row.locator("td").nth(2)).to_have_text("2")
    changed = known(line, f"templates/{named}")
    assert {known(line, f"sensors/follows-{n}")["streams"]["noise"] for n in (1, 2)} == {changed["id"]}
    row.get_by_role("button", name="Change").click()
    row.get_by_label("in seconds from the report").fill('{"uniform": [-6, 0]}')
    row.get_by_label("Why (for the audit trail)").fill("a longer one")
    run_copied(page, "Save")
    assert known(line, f"templates/{named}")["edges_s"] == [-6, 0]
    row.get_by_role("button", name="Save").click()  # the version that it saw is no longer the present one
    expect(row.get_by_role("alert")).to_contain_text("Load the page again")
    assert [why for action, why in reasons(line, named) if action == "template.changed"] == [
        "another cable",
        "a longer one",
    ]


def test_a_template_is_added_and_removed_but_not_while_a_sensor_follows_it(
    open_page: OpenPage, line: Line, named: str
) -> None:
    page = open_page("/sensors")
    table = page.get_by_label("Templates", exact=True)
    table.get_by_role("button", name="New template").click()
    table.get_by_role("button", name="Save").click()
    expect(table.get_by_role("alert")).to_contain_text("Give the template a name")
    table.get_by_label("Name", exact=True).fill(HOSTILE)
    table.get_by_role("button", name="Save").click()
    expect(table.get_by_role("alert")).to_contain_text("Choose how late or wrong its reports are")
    table.locator("select").select_option("uniform")
    table.get_by_role("button", name="Save").click()
    row = table.locator("tr", has_text=HOSTILE)
    expect(row).to_contain_text("0 sensors")
    assert page.evaluate("window.hacked") is None
    row.get_by_role("button", name="Remove").click()
    row.get_by_role("button", name="Remove it for good").click()
    expect(row).to_have_count(0)
    followed = table.locator("tr", has_text=named)
    followed.get_by_role("button", name="Remove").click()
    followed.get_by_role("button", name="Remove it for good").click()
    expect(followed.get_by_role("alert")).to_contain_text("2 sensors name the template")


def test_a_sensor_says_which_template_it_follows_and_goes_on_to_when_it_is_changed(
    open_page: OpenPage, line: Line, named: str
) -> None:
    page = open_page("/sensors?sensor=follows-1")
    expect(page.get_by_label("Stream noise")).to_contain_text(
        f"It follows the template {named}, which 2 sensors follow."
    )
    form = page.get_by_label("Change it")
    form.get_by_label("Model").fill("M-2")
    page.evaluate("window.isOld = true")
    form.get_by_role("button", name="Save").click()
    page.wait_for_function("window.isOld === undefined")
    changed = known(line, "sensors/follows-1")
    assert (changed["model"], changed["templates"]) == ("M-2", {"noise": named})
    page.get_by_label("Stream noise").get_by_role("link", name=named).click()
    expect(page.get_by_label("Templates", exact=True).locator("tr", has_text=named)).to_be_visible()


def test_what_is_heard_of_a_sensor_is_said(open_page: OpenPage, line: Line) -> None:
    now_us = time.time_ns() // 1000
    drift = TemplateDrift(f"t-{0:016x}", errors=100, distance=0.31, p_value=1e-9, levels=[20, *[2] * 10, *[5] * 8, 20])
    health = SensorHealth("mic-2", "noise", 0, now_us, 2.0, 0.25, drift)
    untold = SensorHealth("mic-1", "noise", 0, now_us, 2.0, 0.25, None)
    told = HealthRecord("harbour", 0, now_us, [health, untold])
    line.registry.health.take(told.key, told.to_record())
    page = open_page("/sensors?sensor=mic-1")  # which may have been in many matches
    expect(page.get_by_label("Stream noise")).to_contain_text("not known yet: no match has told")
    page = open_page("/sensors?sensor=mic-2")
    expect(page.get_by_label("Stream noise")).to_contain_text("Heard of")
    expect(page.get_by_label("Stream noise")).to_contain_text("25 % of its detections came too late")
    expect(page.get_by_label("Stream noise")).to_contain_text("The template fits: no: off by 0.31, by 100 recent")
    expect(page.get_by_role("img", name="P-P plot of 100 errors: off by 0.31")).to_be_visible()
    expect(page.get_by_label("Stream noise").locator("svg.template-picture")).to_have_attribute(
        "aria-label", "What it reports happened most likely 1 s to 2 s before."
    )
    shoot(page, "sensors-one")


def test_how_slow_the_clock_of_a_sensor_was_is_a_line_in_time(open_page: OpenPage, line: Line) -> None:
    clock = {"error": {"uniform": [-1, 1]}}
    line.call("PUT", "ingest", "/v1/clocks/gw-7", json=clock).raise_for_status()
    beside = {"area": "bay", "clock": "gw-7", "streams": {"noise": {"own": {"uniform": [-0.05, 0.05]}}}}
    line.call("PUT", "ingest", "/v1/sensors/behind-1", json=beside).raise_for_status()
    page = open_page("/sensors?sensor=behind-1")
    expect(page.get_by_label("Its clock")).to_contain_text("None of the 0 newest matches tells how slow it was.")
    now_us, told = time.time_ns() // 1000, []
    for nth, slow_s in enumerate((3.0, 7.5, 12.1)):
        at_us = now_us + nth * 1_000_000
        offset = {"id": "gw-7", "mean_s": slow_s, "std_s": 0.3, "p05_s": slow_s - 0.5, "p95_s": slow_s + 0.5}
        occurred = {"mean_us": at_us, "std_s": 0.1, "p05_us": at_us, "p95_us": at_us, "clocks": [offset]}
        of = match(
            f"m-clock-{nth}",
            query="clocked",
            sensors=("behind-1", "buoy-1"),
            area="bay",
            earliest_us=at_us,
            latest_us=at_us,
            occurred=occurred,
        )
        told.append((TOPICS.matches, b"bay", json.dumps(of).encode()))
    line.store(told)
    page = open_page("/sensors?sensor=behind-1")
    clock_card = page.get_by_label("Its clock")
    expect(clock_card).to_contain_text("The clock of gw-7 was 12.1 s slow; with 90 % between 11.6 s")
    expect(clock_card).to_contain_text("How slow it was, by 3 matches")
    expect(clock_card.get_by_role("img", name="3 matches in all")).to_be_visible()


def test_what_was_learnt_is_accepted_or_rejected_and_nothing_changes_before(open_page: OpenPage, line: Line) -> None:
    for sensor, sigma_s in (("mic-1", 0.2), ("mic-3", 0.4)):
        learnt = Histogram.normal(sigma_s)
        proposal = TemplateProposal(
            id=f"p-{sensor}",
            sensor=sensor,
            stream="noise",
            template=TemplateForm(learnt.edges_s.tolist(), learnt.mass.tolist()),
            errors=412,
            pool="own",
            wrong_share=0.03,
            score=0.5,
            present_score=0.1,
            proposed_at_us=time.time_ns() // 1000,
        )
        line.proposals[proposal.key] = proposal
    before = known(line, "sensors/mic-1")["streams"]
    page = open_page("/sensors")
    expect(page.get_by_text("wait for somebody to decide")).to_be_visible()
    page.get_by_text("wait for somebody").locator("..").get_by_role("link", name="mic-1").click()
    learnt_card = page.get_by_label("Learnt templates")
    expect(learnt_card).to_contain_text("Learnt from 412 errors (own), 0.4 nats an error better")
    expect(learnt_card.locator("svg.template-picture")).to_have_count(2)  # the present one beside the learnt one
    shoot(page, "sensors-learnt")
    assert known(line, "sensors/mic-1")["streams"] == before
    learnt_card.get_by_label("Why (for the audit trail)").fill("the cable is shorter now")
    learnt_card.get_by_role("button", name="Accept").click()
    expect(learnt_card).to_be_hidden()
    accepted = known(line, "sensors/mic-1")["streams"]
    assert accepted != before
    assert "the cable is shorter now" in [each["why"] for each in line.keys.changes if each["subject"] == "p-mic-1"]

    page.goto(page.url.replace("mic-1", "mic-3"))
    before = known(line, "sensors/mic-3")["streams"]
    page.get_by_label("Learnt templates").get_by_role("button", name="Reject").click()
    expect(page.get_by_label("Learnt templates")).to_be_hidden()
    assert known(line, "sensors/mic-3")["streams"] == before
    states = {each.sensor: each.state for each in line.proposals.values()}
    assert states == {"mic-1": "accepted", "mic-3": "rejected"}
    as_it_was = {name: each for name, each in line.sensors.items() if name == "mic-1"}
    line.registry.apply(as_it_was)


def test_a_stream_is_declared_changed_and_removed(open_page: OpenPage, line: Line) -> None:
    page = open_page("/sensors")
    streams = page.get_by_label("Streams", exact=True)
    streams.get_by_role("button", name="New stream").click()
    streams.get_by_label("Name", exact=True).fill("smell")
    streams.get_by_label("May come late by, s").fill("7")
    streams.get_by_role("button", name="Save").click()
    row = streams.locator("tr", has_text="smell")
    expect(row).to_contain_text("7 s")
    row.get_by_role("button", name="Change").click()
    row.get_by_label("Why (for the audit trail)").fill("it is far away")
    row.get_by_label("May come late by, s").fill("9")
    row.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("9 s")
    assert known(line, "streams/smell")["max_delay_s"] == 9
    assert [each["why"] for each in line.keys.changes if each["subject"] == "smell"] == [None, "it is far away"]
    noise = streams.locator("tr", has_text="noise")
    for each in (noise, row):
        each.get_by_role("button", name="Remove").click()
        each.get_by_role("button", name="Remove it for good").click()
        if each is noise:
            expect(noise.get_by_role("alert")).to_contain_text("noise")  # sensors report it
            noise.get_by_role("button", name="Leave it").click()
    expect(row).to_have_count(0)
