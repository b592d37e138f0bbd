"""The page History in a real browser, over real runs: ask, follow, look at the curve, compare, remove."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import shoot
from tests.console.line import Line
from tests.console.past import noisy_hour, running_past
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
QUERY = "sn1987a-two-of-three"
RANGE = {"from": "1987-02-23T07:00:00Z", "to": "1987-02-23T08:00:00Z"}


@pytest.fixture(scope="module", autouse=True)
def past(line: Line, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with running_past(line, tmp_path_factory.mktemp("past"), noisy_hour()):
        yield


def done(line: Line, **asked: Any) -> str:
    """Do a run, and return its id."""
    run = (
        line.call("POST", "alerting", "/v1/history-runs", json={"query": QUERY, **RANGE, **asked})
        .raise_for_status()
        .json()["run"]
    )

    def ended() -> bool:
        return bool(line.call("GET", "alerting", f"/v1/history-runs/{run}").json()["state"] == "done")

    until(ended, 60, of=[psutil.Process()])
    return str(run)


def remove_runs(line: Line) -> None:
    """Remove the runs that other tests have asked for."""

    def are_gone() -> bool:
        runs = line.items("history-runs")
        for each in runs:
            line.call("DELETE", "alerting", f"/v1/history-runs/{each['run']}").raise_for_status()
        return runs == []

    until(are_gone)


def chosen(page: Page) -> Locator:
    return page.get_by_label("The chosen run")


def test_a_run_is_asked_for_in_the_form_and_shows_its_curve(open_page: OpenPage, line: Line) -> None:
    remove_runs(line)
    page = open_page("/history")
    expect(page.get_by_label("Runs")).to_contain_text("No run yet")
    shoot(page, "history-empty")
    form = page.get_by_label("Ask for a run")
    form.get_by_label("Query").select_option(QUERY)
    form.get_by_label("Range").select_option("")
    form.get_by_label("From (Europe/Rome)").fill("1987-02-23T08:00:00")
    form.get_by_label("To (Europe/Rome)").fill("1987-02-23T09:00:00")
    form.get_by_label("Curve from threshold").fill("7")
    form.get_by_role("button", name="Ask", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("min_threshold is 7.0: a probability above 0, at most 1")
    form.get_by_label("Curve from threshold").fill("0.05")
    form.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_url(re.compile(r"/history\?run=r-[0-9a-f]{32}$"))
    expect(chosen(page)).to_contain_text(re.compile(r"It is done\. It found [\d,]+ matches in \d+ detections"))
    [run] = line.call("GET", "alerting", "/v1/history-runs").raise_for_status().json()["items"]
    assert (run["request"]["from_us"], run["request"]["to_us"]) == (541_062_000_000_000, 541_065_600_000_000)
    expect(chosen(page)).to_contain_text(f"{run['matches']:,} matches")
    expect(chosen(page).locator(".chart svg")).to_be_visible()
    chosen(page).get_by_text("As a table").click()
    expect(chosen(page).locator("tbody tr")).to_have_count(len(run["curve"]))
    shoot(page, "history-curve")
    chosen(page).locator(".chart").hover()
    expect(chosen(page).locator(".chart > div").last).to_contain_text("matches")  # of the threshold pointed at
    row = page.get_by_label("Runs").locator("tbody tr").first
    expect(row.locator(".number").first).to_have_attribute("title", re.compile(r"\.000000 Europe/Rome$"))
    expect(row.locator(".number").nth(1)).to_have_attribute("title", re.compile(f"matches {run['matches']}"))


def test_time_slides_are_asked_for_and_told_beside_the_formula(open_page: OpenPage, line: Line) -> None:
    remove_runs(line)  # where there is none, the form is open
    page = open_page("/history")
    form = page.get_by_label("Ask for a run")
    form.get_by_label("Query").select_option(QUERY)
    form.get_by_label("Range").select_option("")
    form.get_by_label("From (Europe/Rome)").fill("1986-02-01T01:00:00")
    form.get_by_label("To (Europe/Rome)").fill("1986-02-01T02:00:00")
    form.get_by_label("Curve from threshold").fill("0.02")
    form.get_by_label("Time slides").fill("0")
    form.get_by_role("button", name="Ask", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("slides is 0: how many time slides, 1 to 1000")
    form.get_by_label("Time slides").fill("20")
    form.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_url(re.compile(r"/history\?run=r-[0-9a-f]{32}$"))
    expect(chosen(page)).to_contain_text("complete, from the archive, 20 time slides")
    expect(chosen(page)).to_contain_text("At the query's own threshold 20 time slides give")
    run = line.call("GET", "alerting", f"/v1/history-runs/{page.url.rpartition('=')[2]}").json()
    slides, [own] = run["slides"], [each for each in run["curve"] if each["threshold"] == run["own_threshold"]]
    assert 10 < slides["chance"] < 100
    expect(chosen(page)).to_contain_text(f"{slides['chance']:.3g} matches by chance")
    expect(chosen(page)).to_contain_text(f"the formula gives {own['chance']:.3g}.")
    low, high = (f"{round(each):,}" for each in slides["interval_per_day"])
    expect(chosen(page)).to_contain_text(f"a day of recorded time, {low} to {high}.")
    expect(chosen(page).locator(".chart").get_by_text("by time slides")).to_be_visible()
    shoot(page, "history-slides")


def test_where_nothing_can_be_shifted_it_says_why(open_page: OpenPage, line: Line) -> None:
    run = done(line, slides=5)
    why = line.call("GET", "alerting", f"/v1/history-runs/{run}").json()["slides_unknown"]
    page = open_page(f"/history?run={run}")
    expect(chosen(page)).to_contain_text(f"{why[0].upper()}{why[1:]}.")


def test_a_double_click_asks_once(open_page: OpenPage, line: Line) -> None:
    remove_runs(line)
    page = open_page("/history")
    form = page.get_by_label("Ask for a run")
    form.get_by_label("Query").select_option(QUERY)
    form.get_by_label("Range").select_option("3600")  # whose end is now, so that each asks for another run
    form.get_by_role("button", name="Ask", exact=True).dblclick()
    page.wait_for_url(re.compile(r"/history\?run=r-[0-9a-f]{32}$"))
    expect(chosen(page)).to_contain_text("It is done")
    assert len(line.call("GET", "alerting", "/v1/history-runs").raise_for_status().json()["items"]) == 1


def test_a_run_is_compared_with_what_is_live_and_each_difference_leads_to_its_time(
    open_page: OpenPage, line: Line
) -> None:
    run = done(line)
    page = open_page(f"/history?run={run}", color_scheme="dark")
    page.get_by_label("This run with").select_option("live")
    page.wait_for_url(re.compile("with=live"))
    compared = page.get_by_label("Compare")
    told = (
        line.call("GET", "alerting", f"/v1/history-runs/{run}/compare", params={"with": "live"})
        .raise_for_status()
        .json()
    )
    counts = told["counts"]
    words = ", ".join(f"{counts[kind]:,} {kind}" for kind in ("added", "gone", "changed", "same"))
    expect(compared.get_by_role("status")).to_contain_text(words)
    shoot(page, "history-live-dark")


def test_two_runs_are_compared(open_page: OpenPage, line: Line) -> None:
    longer, shorter = done(line), done(line, to="1987-02-23T07:35:41Z")
    page = open_page(f"/history?run={shorter}&with={longer}")
    compared = page.get_by_label("Compare")
    gone = (
        line.call("GET", "alerting", f"/v1/history-runs/{shorter}/compare", params={"with": longer})
        .raise_for_status()
        .json()["gone"]
    )
    assert len(gone) > 50
    expect(compared.get_by_role("status")).to_contain_text(f"0 added, {len(gone):,} gone, 0 changed")
    expect(compared.locator("tbody tr")).to_have_count(21)
    expect(compared.locator("tbody tr").last).to_contain_text(f"{len(gone) - 20} matches more")
    expect(compared.locator(".chart svg")).to_be_visible()
    shoot(page, "history-compare")
    compared.get_by_role("link", name="Show this time").first.click()
    page.wait_for_url(re.compile(r"/\?from=1987-02-23T07.*area=sn1987a"))
    back = open_page(f"/history?run={longer}&with={shorter}", width=380)
    expect(back.get_by_label("Compare").get_by_role("status")).to_contain_text(f"{len(gone):,} added, 0 gone")
    shoot(back, "history-phone")


def test_what_another_window_changes_is_said_from_the_probability_before_to_the_one_now(
    open_page: OpenPage, line: Line
) -> None:
    query = line.call("GET", "alerting", f"/v1/queries/{QUERY}").json()["query"]
    wider = {**query, "id": QUERY, "within": [{**each, "window_s": 20} for each in query["within"]]}
    before, now = done(line), done(line, query=wider)
    told = (
        line.call("GET", "alerting", f"/v1/history-runs/{now}/compare", params={"with": before})
        .raise_for_status()
        .json()
    )
    assert len(told["changed"]) > 20
    page = open_page(f"/history?run={now}&with={before}")
    compared = page.get_by_label("Compare")
    expect(compared.get_by_role("status")).to_contain_text(f"{told['counts']['changed']:,} changed")
    rows = compared.locator("tbody tr", has_text="± Changed").filter(has_text="Show this time")
    expect(rows).to_have_count(20)
    exact = {f"{each['before']!r} → {each['now']!r}" for each in told["changed"]}
    cells = [row.locator(".number") for row in rows.all()]
    assert {cell.get_attribute("title") for cell in cells} <= exact
    for cell in cells:
        expect(cell).to_have_text(re.compile(r"^[\d.]+ % → [\d.]+ %$"))
    shoot(page, "history-changed")


def test_a_run_that_fails_says_why_and_is_removed(open_page: OpenPage, line: Line) -> None:
    asked = {"query": QUERY, **RANGE, "as_live": True, "source": "topic"}
    run = line.call("POST", "alerting", "/v1/history-runs", json=asked).raise_for_status().json()["run"]
    page = open_page(f"/history?run={run}")
    expect(chosen(page)).to_contain_text("It is failed")
    row = page.locator("tr[aria-current]")
    expect(row).to_contain_text("as live, from the topic")
    row.get_by_role("button", name="Remove").click()
    expect(row).to_contain_text("Its results are deleted.")
    assert line.call("GET", "alerting", f"/v1/history-runs/{run}").is_success
    row.get_by_role("button", name="Remove it for good").click()
    expect(row).to_have_count(0)
    assert line.call("GET", "alerting", f"/v1/history-runs/{run}").status_code == 404


def test_a_run_that_is_not_there_and_one_that_looks_like_markup(open_page: OpenPage) -> None:
    page = open_page("/history?run=%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E&with=%3Cb%3E")
    expect(chosen(page).get_by_role("status")).to_have_text(
        "There is no such run: it was removed, or the address is wrong."
    )
    assert page.evaluate("window.hacked") is None
