"""The page Alerts in a real browser, over the real line: take over, silence, look back, and see who is told."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import shoot
from tests.console.line import Line
from tests.console.test_now import bang
from tests.integration.service_process import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
TITLE = "Bang <img src=x onerror=window.hacked=1> in harbour"


@pytest.fixture
def ringing(line: Line) -> Line:
    """The line with a query that rings, under a title that would be markup in a careless page."""
    etag = line.call("GET", "alerting", "/v1/queries/bang").headers["etag"]
    rule = {"severity": "critical", "title": TITLE, "resolve_after_s": 600, "max_per_hour": 1000}
    headers = {"If-Match": etag, "Content-Type": "application/merge-patch+json"}
    path, body = "/v1/queries/bang", json.dumps({"alert": rule})
    line.call("PATCH", "alerting", path, content=body, headers=headers).raise_for_status()

    def rings() -> bool:
        listed = line.call("GET", "alerting", "/v1/alerts").json()["items"]
        return any(each["title"] == TITLE and each["state"] != "resolved" for each in listed)

    until(lambda: rings() or not bang(line))
    return line


def test_somebody_takes_an_alert_over_and_it_says_who_and_why(open_page: OpenPage, ringing: Line) -> None:
    page = open_page("/alerts")
    row = page.locator("tr", has_text="Bang <img").filter(has_text="Firing").first
    expect(row).to_contain_text("critical")
    row.get_by_role("button", name="Take over").click()
    row.get_by_label("Who").fill("ann")
    row.get_by_label("What you do about it").fill("looking at <b>the crane</b>")
    shoot(page, "alerts-take-over")
    row.get_by_role("button", name="Take it over").click()
    taken = page.locator("tr", has_text="by ann: looking at <b>the crane</b>").first
    expect(taken).to_contain_text("Taken over")
    acknowledged = ringing.call("GET", "alerting", "/v1/alerts", params={"state": "acknowledged"}).json()["items"]
    assert acknowledged[0]["acknowledged"]["by"] == "ann"
    taken.get_by_role("button", name="History").click()
    expect(taken.locator("ol")).to_contain_text("was taken over")
    expect(taken.locator("ol")).to_contain_text("fired")
    shoot(page, "alerts")
    assert page.evaluate("window.hacked") is None


def test_a_silence_is_made_shown_and_ended(open_page: OpenPage, ringing: Line) -> None:
    page = open_page("/alerts", width=380)
    page.locator("tr", has_text="Bang <img").first.get_by_role("button", name="Silence").click()
    form = page.locator("tr", has_text="Rings nobody: query bang, area harbour").first
    form.get_by_label("For").select_option("28800")
    form.get_by_role("button", name="Silence it").click()
    expect(form.get_by_role("alert")).to_contain_text("by")  # a sentence says what is missing
    form.get_by_label("Who").fill("ann")
    form.get_by_label("Why").fill("drill")
    form.get_by_role("button", name="Silence it").click()
    silences = page.get_by_label("Silences")
    expect(silences).to_contain_text("ann: drill")
    [silence] = [each for each in ringing.call("GET", "alerting", "/v1/silences").json()["items"] if each["active"]]
    assert silence["matchers"] == {"query": "bang", "area": "harbour"}
    assert 28_000 < (silence["until_us"] - silence["from_us"]) / 1e6 < 29_000
    shoot(page, "alerts-phone")
    silences.get_by_role("button", name="End it").click()
    expect(silences).not_to_be_visible()
    assert not any(each["active"] for each in ringing.call("GET", "alerting", "/v1/silences").json()["items"])


def test_who_is_told_is_listed_and_a_test_message_says_what_is_wrong(open_page: OpenPage, line: Line) -> None:
    page = open_page("/alerts")
    expect(page.get_by_label("Receivers")).to_contain_text("Nobody is told of alerts yet")
    receiver = {"webhook": {"url": "https://nowhere.invalid/hook?token=secret"}}
    line.call("PUT", "alerting", "/v1/receivers/ops", json=receiver).raise_for_status()
    row = page.get_by_label("Receivers").locator("tr", has_text="ops")
    expect(row).to_contain_text("webhook https://nowhere.invalid/hook?***")
    row.get_by_role("button", name="Send a test").click()
    expect(row.get_by_role("status")).to_contain_text("ops was not told")
    line.call("DELETE", "alerting", "/v1/receivers/ops").raise_for_status()
