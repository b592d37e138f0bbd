"""The page Alerts in a real browser, over the real line: take over, silence, look back, and see who is told."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import shoot
from tests.console.line import Line
from tests.console.test_now import bang
from tests.integration.webhook_sink import SECRET, running_sink
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
RING = {
    "from": {"a": "noise", "b": "noise"},
    "within": [{"between": ["a", "b"], "window_s": 2, "threshold": 0.3}],
}
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
    expect(taken.locator("ol li").first).to_have_attribute("title", re.compile(r"\.\d{6} Europe/Rome$"))
    shoot(page, "alerts")
    assert page.evaluate("window.hacked") is None


def test_a_list_that_is_drawn_anew_keeps_the_focus(open_page: OpenPage, ringing: Line) -> None:
    page = open_page("/alerts")
    rows = page.locator("tr", has_text="Bang <img")
    key, count = rows.first.get_attribute("data-key"), rows.count()
    button = page.locator(f"tr[data-key='{key}']").get_by_role("button", name="History")
    button.focus()
    while rows.count() == count:  # the test's own limit bounds it
        bang(ringing)
        page.wait_for_timeout(4000)  # what comes sooner is part of the same alert
    expect(rows.nth(1)).to_have_attribute("data-key", str(key))  # under the newer one
    expect(button).to_be_focused()


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
    expect(silences.locator(".number")).to_have_attribute("title", re.compile(r"\.\d{6} Europe/Rome$"))
    [silence] = [each for each in ringing.call("GET", "alerting", "/v1/silences").json()["items"] if each["active"]]
    assert silence["matchers"] == {"query": "bang", "area": "harbour"}
    assert 28_000 < (silence["until_us"] - silence["from_us"]) / 1e6 < 29_000
    shoot(page, "alerts-phone")
    silences.get_by_role("button", name="End it").click()
    expect(silences).not_to_be_visible()
    assert not any(each["active"] for each in ringing.call("GET", "alerting", "/v1/silences").json()["items"])


def test_a_webhook_is_made_tested_and_rung_by_a_rule_of_the_form(open_page: OpenPage, line: Line) -> None:
    line.call("PUT", "alerting", "/v1/queries/ring", json=RING).raise_for_status()
    with running_sink() as sink:
        page = open_page("/alerts")
        receivers = page.get_by_label("Receivers", exact=True)
        expect(receivers).to_contain_text("Nobody is told of alerts yet")
        receivers.get_by_role("button", name="New receiver").click()
        receivers.get_by_label("Name").fill("ops")
        receivers.get_by_label("URL that gets each message").fill("ftp://127.0.0.1/")
        receivers.get_by_label("Secret that signs each message").fill(SECRET)
        receivers.get_by_role("button", name="Save").click()
        expect(receivers.get_by_role("alert")).to_contain_text("“URL that gets each message”: an http or https URL")
        receivers.get_by_label("URL that gets each message").fill(sink.url)
        shoot(page, "alerts-new-receiver")
        receivers.get_by_role("button", name="Save").click()
        row = receivers.locator("tr", has_text="ops")
        expect(row).to_contain_text(f"webhook {sink.url.partition('?')[0]}?***")
        row.get_by_role("button", name="Send a test").click()
        expect(row.get_by_role("status")).to_contain_text("It was taken")
        assert [each["data"]["title"] for each in sink.events] == ["Coincide can reach ops"]
        sink.status = 410  # gone: it is given up at once

        page.goto(page.url.replace("/alerts", "/queries?query=ring"))
        page.get_by_label("Tell somebody").select_option("critical")
        page.get_by_label("Title").fill("Ring in {area}")
        page.get_by_label("Receivers (none: all of them)").fill("ops")
        shoot(page, "queries-alert-rule")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_label("Versions")).to_contain_text("alert: nothing")
        rule = {"severity": "critical", "title": "Ring in {area}", "to": ["ops"]}
        assert line.call("GET", "alerting", "/v1/queries/ring").json()["query"]["alert"] == rule
        until(lambda: bool(deliveries(line, "dead")) or not bang(line))

        page.goto(page.url.partition("/queries")[0] + "/alerts")
        row.get_by_role("button", name="Deliveries").click()
        told = receivers.locator("tr", has_text="Ring in harbour fired").first
        expect(told).to_contain_text("answered 410, after 1 attempts")
        shoot(page, "alerts-deliveries")
        sink.status = 204
        told.get_by_role("button", name="Send again").click()
        expect(receivers.locator("tr", has_text="Ring in harbour fired").filter(has_text="delivered")).to_be_visible()
        until(lambda: any(each["data"]["title"] == "Ring in harbour" for each in sink.events))
        assert sink.faults == []  # each message was signed with the secret of the form
    etag = line.call("GET", "alerting", "/v1/queries/ring").headers["etag"]
    line.call("DELETE", "alerting", "/v1/queries/ring", headers={"If-Match": etag}).raise_for_status()
    row.get_by_role("button", name="Remove").click()
    receivers.get_by_role("button", name="Remove it for good").click()
    expect(receivers).to_contain_text("Nobody is told of alerts yet")


def test_a_receiver_is_changed_and_a_test_message_says_what_is_wrong(open_page: OpenPage, line: Line) -> None:
    receiver = {"webhook": {"url": "https://nowhere.invalid/hook?token=secret", "secret": SECRET}}
    line.call("PUT", "alerting", "/v1/receivers/night", json=receiver).raise_for_status()
    page = open_page("/alerts")
    row = page.get_by_label("Receivers", exact=True).locator("tr", has_text="night")
    row.get_by_role("button", name="Send a test").click()
    expect(row.get_by_role("status")).to_contain_text("night was not told")
    row.get_by_role("button", name="Change").click()
    form = page.get_by_label("Receivers", exact=True)
    expect(form.get_by_label("URL that gets each message")).to_have_value("")  # it may hold a secret
    form.get_by_label("It is").select_option("alertmanager")
    form.get_by_label("URL of the Alertmanager").fill("http://nowhere.invalid:9093")
    form.get_by_label("It hears of").select_option("no")
    form.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Alertmanager http://nowhere.invalid:9093")
    expect(row).to_contain_text("hears of alerts only")
    changed = line.call("GET", "alerting", "/v1/receivers/night").json()
    assert (changed["webhook"], changed["system"]) == (None, False)
    line.call("DELETE", "alerting", "/v1/receivers/night", headers={"If-Match": "*"}).raise_for_status()


def deliveries(line: Line, state: str) -> list[Any]:
    listed = line.call("GET", "alerting", "/v1/receivers/ops/deliveries", params={"state": state})
    return list(listed.json()["items"])
