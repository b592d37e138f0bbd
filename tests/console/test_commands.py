"""What a dialogue's button does, its copied command does, too: with its precondition, and its reason for the audit."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import shoot
from tests.console.line import Line

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
WHY = "it's „loud“ here"


def run_copied(page: Page, words: str) -> None:
    """Press a button that copies, and run in a shell what it has copied."""
    button = page.get_by_title(f"{words}, as a command")
    button.click()
    expect(button).to_have_text("Copied")
    command = page.evaluate("navigator.clipboard.readText()")
    done = subprocess.run(["bash", "-c", f"{command} --fail --silent"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done)


def reasons(line: Line, subject: str) -> list[Any]:
    return [(each["action"], each["why"]) for each in line.keys.changes if each["subject"] == subject]


def test_a_query_is_changed_paused_and_removed_by_copied_commands(open_page: OpenPage, line: Line) -> None:
    path = "/v1/queries/copied"
    within = {"between": ["a", "b"], "window_s": 1, "threshold": 0.5}
    query = {"from": {"a": "noise", "b": "noise"}, "within": [within]}
    line.call("PUT", "alerting", path, json=query).raise_for_status()
    page = open_page("/queries?query=copied", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("with probability at least").fill("0.37")
    for field in page.get_by_label("Why (for the audit trail)").all():
        field.fill(WHY)
    run_copied(page, "Save")
    assert line.call("GET", "alerting", path).json()["query"]["within"][0]["threshold"] == 0.37
    shoot(page, "queries-copied")
    page.get_by_role("button", name="Save", exact=True).click()  # the version that it saw is no longer the present one
    expect(page.get_by_role("alert").filter(has_text="Load the page again")).to_be_visible()
    page.reload()
    page.get_by_label("State").get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Pause")
    expect(page.get_by_label("State").locator(".state-word")).to_have_text("Paused")
    page.get_by_role("button", name="Remove", exact=True).click()
    run_copied(page, "Remove it for good")
    assert line.call("GET", "alerting", path).status_code == 404
    assert [why for _, why in reasons(line, "copied")[1:]] == [WHY] * 3


def test_a_sensor_is_changed_and_removed_by_copied_commands(open_page: OpenPage, line: Line) -> None:
    path, sensor = "/v1/sensors/copied", {"area": "bay", "streams": {"noise": {"uniform": [-3, 1]}}}
    line.call("PUT", "ingest", path, json=sensor).raise_for_status()
    page = open_page("/sensors?sensor=copied", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Model").fill("it's <b>new</b>")
    page.get_by_label("Why (for the audit trail)").fill(WHY)
    run_copied(page, "Save")
    assert line.call("GET", "ingest", path).json()["model"] == "it's <b>new</b>"
    page.reload()
    page.get_by_role("button", name="Remove this sensor").click()
    page.get_by_label("Why (for the audit trail)").last.fill(WHY)
    run_copied(page, "Remove it for good")
    assert line.call("GET", "ingest", path).status_code == 404
    assert [why for _, why in reasons(line, "copied")[-2:]] == [WHY] * 2


def test_where_the_browser_refuses_to_copy_the_command_is_shown(open_page: OpenPage) -> None:
    page = open_page("/queries?query=bang")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.get_by_title("Pause, as a command").click()
    expect(page.get_by_role("button", name="Copy it from here:")).to_be_visible()
    expect(page.locator("pre").filter(has_text="curl -X POST")).to_contain_text("/v1/queries/bang/pause")
