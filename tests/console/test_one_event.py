"""Whether a match is one event, in a real browser: as its evidence comes, term by term, and the surest first."""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Locator, Page, expect

from services.alerting.records.records import TOPICS
from tests.coincide.catalogue.test_catalogues import body as located
from tests.console.conftest import serious_faults, shoot, until_chart
from tests.console.line import Line
from tests.patience import until
from tests.services.alerting.sample_records import evidence
from tests.services.alerting.sample_records import match as sample_match

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]

TERMS = [
    {"kind": "events", "bits": -15.4, "sentence": "An event comes 2 times a day."},
    {"kind": "member", "sensor": "mic-1", "bits": 11.5, "sentence": "mic-1 hears 80 % of the events."},
    {"kind": "member", "sensor": "mic-3", "bits": 11.5, "sentence": "mic-3 hears 80 % of the events."},
    {"kind": "silent", "sensor": "mic-2", "bits": -2.3, "sentence": "mic-2 is alive and silent."},
]


def bang(line: Line) -> dict[str, Any]:
    """Have two microphones hear the same; return their match."""
    at_us, known = time.time_ns() // 1000 - 500_000, {each["id"] for each in matches(line)}
    for sensor in ("mic-1", "mic-3"):
        line.post([{"sensor": sensor, "stream": "noise", "detected_at": at_us}]).raise_for_status()
    until(lambda: {each["id"] for each in matches(line)} > known)
    return next(each for each in matches(line) if each["id"] not in known)


def matches(line: Line) -> list[dict[str, Any]]:
    return line.items("matches", query="bang")


def weigh(line: Line, match: dict[str, Any], posterior: float | None, **others: Any) -> None:
    """Have the evidence of a match come, as fusion would tell it."""
    belongs = [{"sensor": each["sensor"], "id": each["id"], "belongs": posterior} for each in match["members"]]
    said = {"query": "bang", "area": "harbour", "bits": 5.3, "terms": TERMS, "members": belongs, **others}
    line.store([(TOPICS.evidence, b"harbour", msgspec.json.encode(evidence(match["id"], posterior, **said)))])


def panel_of(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Evidence")


def test_the_evidence_is_shown_as_soon_as_it_comes_and_says_why(open_page: OpenPage, line: Line) -> None:
    match = bang(line)
    page = open_page(f"/?match={match['id']}&area=harbour&span=3600")
    panel = panel_of(page)
    expect(panel).to_contain_text("Whether it is one event is told as soon as no later report can be of it.")
    until_chart(page, f"scene.matches.has('{match['id']}')")
    belongs = [{"sensor": "mic-1", "id": match["members"][0]["id"], "belongs": 0.999}]
    belongs += [{"sensor": "mic-3", "id": match["members"][1]["id"], "belongs": 0.2}]
    weigh(line, match, 0.997, members=belongs)
    expect(panel).to_contain_text("One event, 99.7 %.")
    rows = panel.locator(".waterfall li")
    expect(rows).to_have_count(5)
    expect(rows.nth(0)).to_contain_text("An event comes 2 times a day.−15.4")
    expect(rows.nth(4)).to_contain_text("Together: 97.5 %, if no other match had these reports.+5.3")
    assert [
        each.evaluate("bar => Math.round(bar.offsetLeft / bar.parentElement.offsetWidth * 100)")
        for each in rows.locator(".waterfall-for, .waterfall-against").all()
    ] == pytest.approx([0, 0, 50, 90, 67], abs=1)
    expect(panel).to_contain_text("Over all ways to share them out, it is 99.7 %.")
    expect(panel.get_by_role("listitem").filter(has_text="seen")).to_contain_text(
        ["belongs with 99.9 %", "perhaps a stranger: it belongs with 20 %"]
    )
    assert serious_faults(page) == []
    shoot(page, "one-event")


def test_what_nobody_knows_says_why(open_page: OpenPage, line: Line) -> None:
    match = bang(line)
    weigh(line, match, None, bits=None, terms=[], members=[], unknown="too_much_work")
    panel = panel_of(open_page(f"/?match={match['id']}"))
    expect(panel).to_contain_text("Whether it is one event is not known: more matches hang together than are weighed.")
    expect(panel.locator(".waterfall")).to_have_count(0)


def test_only_what_is_sure_enough_is_shown_the_surest_first(open_page: OpenPage, line: Line) -> None:
    unsure, sure, surest = bang(line), bang(line), bang(line)
    for match, posterior in ((unsure, 0.2), (sure, 0.95), (surest, 0.985)):
        weigh(line, match, posterior)
    page = open_page("/?area=harbour&span=3600")
    until_chart(page, f"scene.matches.has('{unsure['id']}')")
    page.get_by_label("Matches").select_option("90 % sure of one event, at least")
    page.wait_for_url(lambda address: "min_posterior=0.9" in address)
    table = page.get_by_role("region", name="Newest in this view")
    expect(table.get_by_role("heading")).to_have_text("The surest in this view")
    rows = table.locator("tbody tr:visible")
    expect(rows).to_contain_text(["98.5 %", "95 %"])
    shown = "[...scene.matches.values()].filter((each) => scene.shows(each)).map((each) => each.id)"
    until_chart(page, f"{shown}.includes('{sure['id']}') && !{shown}.includes('{unsure['id']}')")
    shoot(page, "one-event-surest")
    later = bang(line)  # it is shown once its evidence says so
    until_chart(page, f"scene.matches.has('{later['id']}') && !{shown}.includes('{later['id']}')")
    weigh(line, later, 0.999)
    until_chart(page, f"{shown}.includes('{later['id']}')")
    expect(rows.first).to_contain_text("99.9 %")
    page.reload()
    until_chart(page, f"{shown}.includes('{surest['id']}')")
    expect(table.locator("tbody tr:visible")).to_contain_text(["99.9 %", "98.5 %", "95 %"])  # others may be between


def test_where_its_source_was_is_there_to_be_seen(open_page: OpenPage, line: Line) -> None:
    quake = located()
    members = [{**member, "sensor": f"s{nth}"} for nth, member in enumerate(quake["members"])]
    told = {**sample_match(), **quake, "id": f"m-{'5' * 32}", "query": "bang", "area": "harbour", "members": members}
    line.store([(TOPICS.matches, b"harbour", msgspec.json.encode(told))])
    until(lambda: any(each["id"] == told["id"] for each in matches(line)))
    panel = panel_of(open_page(f"/?match={told['id']}"))
    expect(panel).to_contain_text("One source explains the times, with 90 %.")
    box = panel.locator(".sensor-map").bounding_box()
    assert box is not None
    assert box["height"] > 100
