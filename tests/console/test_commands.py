"""What a dialogue's button does, its copied command does, too: with its precondition, and its reason for the audit."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import shoot
from tests.console.line import Line
from tests.console.past import running_past
from tests.integration.webhook_sink import SECRET, running_sink
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
WHY = "it's „loud“ here"


def copied(within: Page | Locator, words: str) -> str:
    """Press a button that copies, and return what it has copied."""
    button = within.get_by_title(f"{words}, as a command")
    button.click()
    expect(button).to_have_text("Copied")
    page = within if isinstance(within, Page) else within.page
    return str(page.evaluate("navigator.clipboard.readText()"))


def run_copied(within: Page | Locator, words: str) -> None:
    """Run in a shell what a button has copied."""
    run(copied(within, words))


def run(commands: str) -> None:
    """Run commands in a shell; none may fail."""
    failing = commands.replace("curl ", "curl --fail --silent ")
    done = subprocess.run(["bash", "-ec", failing], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, (commands, done)


def reasons(line: Line, subject: str) -> list[Any]:
    return [(each["action"], each["why"]) for each in line.keys.changes if each["subject"] == subject]


def test_a_query_is_changed_paused_and_removed_by_copied_commands(open_page: OpenPage, line: Line) -> None:
    path = "/v1/queries/copied-query"
    within = {"between": ["a", "b"], "window_s": 1, "threshold": 0.5}
    query = {"from": {"a": "noise", "b": "noise"}, "within": [within]}
    line.call("PUT", "alerting", path, json=query).raise_for_status()
    page = open_page("/queries?query=copied-query", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("with probability at least").fill("0.37")
    page.get_by_label("The query", exact=True).get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Save")
    assert line.call("GET", "alerting", path).json()["query"]["within"][0]["threshold"] == 0.37
    shoot(page, "queries-copied")
    page.get_by_role("button", name="Save", exact=True).click()  # the version that it saw is no longer the present one
    said = "Somebody has changed it meanwhile. Load the page again to see what it is now."
    expect(page.get_by_role("alert").filter(has_text=said)).to_have_text(said)
    page.reload()
    page.get_by_label("State").get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Pause")
    expect(page.get_by_label("State").locator(".state-word")).to_have_text("Paused")
    page.get_by_role("button", name="Remove", exact=True).click()
    run_copied(page, "Remove it for good")
    assert line.call("GET", "alerting", path).status_code == 404
    assert [why for _, why in reasons(line, "copied-query")[1:]] == [WHY] * 3


def test_a_sensor_is_changed_and_removed_by_copied_commands(open_page: OpenPage, line: Line) -> None:
    path, sensor = "/v1/sensors/copied", {"area": "bay", "streams": {"noise": {"uniform": [-3, 1]}}}
    line.call("PUT", "ingest", path, json=sensor).raise_for_status()
    page = open_page("/sensors?sensor=copied", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Model").fill("it's <b>new</b>")
    page.get_by_label("Change it").get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Save")
    assert line.call("GET", "ingest", path).json()["model"] == "it's <b>new</b>"
    page.reload()
    page.get_by_role("button", name="Remove this sensor").click()
    page.get_by_role("group", name="Removal").get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Remove it for good")
    assert line.call("GET", "ingest", path).status_code == 404
    assert [why for _, why in reasons(line, "copied")[-2:]] == [WHY] * 2


def test_a_receiver_is_removed_and_a_silence_ended_by_copied_commands(open_page: OpenPage, line: Line) -> None:
    receiver = {"alertmanager": {"url": "http://127.0.0.1:9"}, "system": False}
    line.call("PUT", "alerting", "/v1/receivers/copied", json=receiver).raise_for_status()
    until_us = time.time_ns() // 1000 + 3_600_000_000
    silence = {"matchers": {"query": "copied"}, "until": until_us, "by": "ann", "why": "a test"}
    silenced = line.call("POST", "alerting", "/v1/silences", json=silence).raise_for_status().json()["id"]
    page = open_page("/alerts", permissions=["clipboard-read", "clipboard-write"])
    run_copied(page, "End it")
    active = {each["id"]: each["active"] for each in line.call("GET", "alerting", "/v1/silences").json()["items"]}
    assert not active.get(silenced)
    row = page.get_by_label("Receivers", exact=True).locator("tr", has_text="copied")
    row.get_by_role("button", name="Remove").click()
    page.get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Remove it for good")
    assert line.call("GET", "alerting", "/v1/receivers/copied").status_code == 404
    assert reasons(line, "copied")[-1][1] == WHY


def test_a_stream_is_declared_and_removed_by_copied_commands(open_page: OpenPage, line: Line) -> None:
    page = open_page("/sensors", permissions=["clipboard-read", "clipboard-write"])
    streams = page.get_by_label("Streams", exact=True)
    streams.get_by_role("button", name="New stream").click()
    streams.get_by_role("button", name="Save").click()
    expect(streams.get_by_role("alert")).to_have_text("Give the stream a name.")
    streams.get_by_label("Name", exact=True).fill("copied")
    streams.get_by_label("May come late by, s").fill("7")
    streams.get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Save")
    assert line.call("GET", "ingest", "/v1/streams/copied").json()["max_delay_s"] == 7
    streams.get_by_role("button", name="Leave it").click()
    page.reload()
    row = streams.locator("tr", has_text="copied")
    row.get_by_role("button", name="Remove").click()
    row.get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Remove it for good")
    assert line.call("GET", "ingest", "/v1/streams/copied").status_code == 404
    assert [why for _, why in reasons(line, "copied")[-2:]] == [WHY] * 2


def test_a_receiver_is_made_and_told_by_copied_commands(open_page: OpenPage, line: Line) -> None:
    page = open_page("/alerts", permissions=["clipboard-read", "clipboard-write"])
    receivers = page.get_by_label("Receivers", exact=True)
    with running_sink() as sink:
        receivers.get_by_role("button", name="New receiver").click()
        receivers.get_by_label("Name").fill("told")
        receivers.get_by_label("URL that gets each message").fill(sink.url)
        receivers.get_by_label("Secret that signs each message").fill(SECRET)
        receivers.get_by_label("Why (for the audit trail)").fill(WHY)
        run_copied(page, "Save")
        assert reasons(line, "told")[-1][1] == WHY
        page.reload()
        run_copied(receivers.locator("tr", has_text="told"), "Send a test")
        assert [each["data"]["title"] for each in sink.events] == ["Coincide can reach told"]
        assert sink.faults == []
    line.call("DELETE", "alerting", "/v1/receivers/told", headers={"If-Match": "*"}).raise_for_status()


def test_runs_are_asked_for_looked_at_and_removed_by_copied_commands(
    open_page: OpenPage, line: Line, tmp_path: Path
) -> None:
    def runs() -> list[Any]:
        return list(line.call("GET", "alerting", "/v1/history-runs").json()["items"])

    with running_past(line, tmp_path):
        page = open_page("/history", permissions=["clipboard-read", "clipboard-write"])
        form = page.get_by_label("Ask for a run")
        form.get_by_label("Query").select_option("sn1987a-two-of-three")
        form.get_by_label("Range").select_option("")
        form.get_by_label("From (Europe/Rome)").fill("1987-02-23T08:00:00")
        form.get_by_label("To (Europe/Rome)").fill("1987-02-23T09:00:00")
        run_copied(form, "Ask")
        [run] = runs()
        assert (run["request"]["from_us"], run["request"]["to_us"]) == (541_062_000_000_000, 541_065_600_000_000)
        until(lambda: runs()[0]["state"] == "done")
        row = page.get_by_label("Runs").locator("tbody tr")
        row.get_by_role("button", name="Remove").click()
        run_copied(page, "Remove it for good")
        assert runs() == []
        expect(row).to_have_count(0)
        page.goto(page.url.replace("/history", "/queries?query=sn1987a"))
        page.get_by_label("Over").select_option("newest")
        run_copied(page, "Look")
        page.get_by_role("button", name="Look").click()
        expect(page.get_by_label("Threshold", exact=True).locator("input[type=range]")).to_be_visible()
        assert len(runs()) == 1  # the button asked for the very same one
        for each in runs():
            line.call("DELETE", "alerting", f"/v1/history-runs/{each['run']}").raise_for_status()


def test_where_the_browser_refuses_to_copy_the_command_is_shown(open_page: OpenPage) -> None:
    page = open_page("/queries?query=bang")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.get_by_title("Pause, as a command").click()
    expect(page.get_by_role("button", name="Copy it from here:")).to_be_visible()
    expect(page.locator("pre").filter(has_text="curl -X POST")).to_contain_text("/v1/queries/bang/pause")
