"""The page Queries in a real browser: ask, change in three views, look what a threshold would give, and look back."""

import json
import re
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from services.console.drawing.run_charts import BLUE
from tests.console.conftest import opened_anew, shoot
from tests.console.line import Line
from tests.console.past import NOISY, noisy_hour, running_past
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
PAIR: dict[str, Any] = {
    "from": {"a": "neutrino", "b": "neutrino"},
    "within": [{"between": ["a", "b"], "window_s": 10, "threshold": 0.3}],
}
BANG: dict[str, Any] = {
    "from": {"a": "noise", "b": "noise"},
    "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}],
}


@pytest.fixture(scope="module", autouse=True)
def past(line: Line, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with running_past(line, tmp_path_factory.mktemp("past"), noisy_hour()):
        yield


def known(line: Line, id_: str) -> dict[str, Any]:
    return dict(line.call("GET", "alerting", f"/v1/queries/{id_}").json())


def test_all_queries_are_listed_with_what_they_ask_and_find(open_page: OpenPage, line: Line) -> None:
    page = open_page("/queries")
    row = page.locator("tr", has=page.get_by_role("link", name="sn1987a", exact=True))
    expect(row).to_contain_text("neutrino + neutrino: within 10 s")
    expect(row).to_contain_text("Running")
    expect(row).to_contain_text("matches")
    shoot(page, "queries")
    row.get_by_role("link", name="sn1987a", exact=True).click()
    expect(page.get_by_role("heading", name="Query sn1987a")).to_be_visible()


def test_a_query_is_made_in_the_form_and_seen_as_json_and_sql(open_page: OpenPage, line: Line) -> None:
    page = open_page("/queries?new=")
    page.get_by_label("Name").fill("thud")
    for role in ("1", "2"):
        page.locator(".query-role").nth(int(role) - 1).get_by_label("plays stream").select_option("noise")
    page.get_by_label("at most so far apart, s").fill("1.5")
    page.get_by_label("with probability at least").fill("0.35")
    found = page.get_by_label("What it can find")
    expect(found).to_contain_text("noise")
    expect(found.locator("svg.role-graph")).to_have_attribute("aria-label", re.compile("within 1.5 s, at least 35 %"))
    page.get_by_role("button", name="SQL").click()
    expect(page.locator(".cm-content")).to_contain_text("THRESHOLD 0.35")
    page.get_by_role("button", name="JSON").click()
    expect(page.locator(".cm-content")).to_contain_text('"window_s": 1.5')
    shoot(page, "queries-json")
    page.get_by_role("button", name="Form").click()
    shoot(page, "queries-form")
    page.get_by_label("Why (for the audit trail)").fill("a thud für alle")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Query thud")).to_be_visible()
    assert known(line, "thud")["query"]["within"][0]["threshold"] == 0.35
    expect(page.get_by_label("Versions")).to_contain_text("created")
    assert [each["why"] for each in line.keys.changes if each["subject"] == "thud"] == ["a thud für alle"]


def test_everything_that_a_join_has_can_be_said_in_the_form(open_page: OpenPage, line: Line) -> None:
    page = open_page("/queries?new=two-of-three")
    page.get_by_label("Name").fill("full")
    first = page.get_by_label("Which detections play a")
    first.get_by_text("all of its detections").click()
    first.get_by_label("Sensors (none: all)").fill("mic-*, buoy-1")
    first.get_by_role("button", name="Add a condition").click()
    first.get_by_label("Attribute").fill("db")
    first.get_by_label("value").fill("100")
    first.get_by_role("button", name="Add a condition").click()
    first.get_by_label("Attribute").nth(1).fill("kind")
    first.locator("select").nth(1).select_option("in")
    first.get_by_label("value").nth(1).fill('flash, 7, "7", true')
    expect(first).to_contain_text("only some of its detections")
    page.get_by_label("of the roles (none: all)").fill("b, c")
    page.get_by_label("So many are enough").fill("1")
    page.get_by_label("Attribute that is equal in all").fill("event")
    page.get_by_text("Areas and limits").click()
    page.get_by_label("Suspend it beyond so many matches in a second").fill("500")
    page.locator("details", has_text="Areas and limits").get_by_label("Areas (none: all)").fill("harbour*")
    shoot(page, "queries-form-full")
    query = saved(page, line, "full")
    assert query["from"]["a"] == {
        "stream": "noise",
        "sensors": ["mic-*", "buoy-1"],
        "where": {"attributes.db": {"above": 100}, "attributes.kind": {"in": ["flash", 7, "7", True]}},
    }
    assert query["at_least"] == {"of": ["b", "c"], "count": 1}
    assert (query["equal"], query["areas"], query["limits"]) == (
        "attributes.event",
        ["harbour*"],
        {"max_matches_per_s": 500},
    )


def test_a_join_says_what_is_known_of_events_and_tells_only_of_what_is_sure(open_page: OpenPage, line: Line) -> None:
    page = open_page("/queries?new=")
    page.get_by_label("Name").fill("sure")
    per_day = page.get_by_label("Events come so often a day")
    per_day.fill("2")
    page.get_by_label("A sensor hears one with probability").fill("0.9")
    page.get_by_label("Other reports of a sensor a day").fill("30")
    page.get_by_label("One reaches").select_option("within_window")
    page.get_by_label("These rates").select_option("learnt")
    page.get_by_label("Tell somebody").select_option("warning")
    page.get_by_label("sure of one event at least").fill("0.99")
    shoot(page, "queries-form-event")
    query = saved(page, line, "sure")
    numbers = {"per_day": 2, "heard_by": 0.9, "unpaired_per_day": 30}
    assert query["event"] == {**numbers, "arrives": "within_window", "rates": "learnt"}
    assert query["alert"]["min_posterior"] == 0.99


def test_a_query_over_readings_is_asked_otherwise_in_the_form(open_page: OpenPage, line: Line) -> None:
    page = open_page("/queries?new=longest")
    page.get_by_label("Name").fill("alike")
    page.get_by_label("Stream").select_option("noise")
    page.get_by_label("A group is").fill("attributes.room")
    page.get_by_label("above").fill("")
    page.get_by_label("It goes on while the next value").select_option("quantised")
    page.get_by_label("amount").fill("0.5")
    page.get_by_label("Asks").select_option("join")
    page.get_by_label("both for at least, s").fill("240")
    page.get_by_label("values differ by at most").fill("2")
    shoot(page, "queries-form-readings")
    query = saved(page, line, "alike")
    assert query["join"] == {"within": 2, "lasting_s": 240}
    assert query["coalesce"]["by"] == ["attributes.room"]
    assert query["coalesce"]["equivalence"] == {"quantised": 0.5}
    assert "where" not in query["coalesce"]


def begun(open_page: OpenPage, name: str, view: str) -> Page:
    """Begin a query in a view of text."""
    page = open_page("/queries?new=")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name=view).click()
    return page


def saved(page: Page, line: Line, name: str) -> dict[str, Any]:
    """Save a new query, and return what alerting has of it."""
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name=f"Query {name}")).to_be_visible()
    return dict(known(line, name)["query"])


def write(page: Page, text: str) -> None:
    expect(page.locator(".cm-content")).to_have_attribute("aria-label", re.compile("^The query as"))  # it is ready
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_the_papers_sql_is_typed_and_what_is_no_sql_yet_is_kept(open_page: OpenPage, line: Line) -> None:
    page = begun(open_page, "ptjoin", "SQL")
    write(page, "SELECT * FROM seismic A, acoustic B\nWHERE WINDOW(A, B) = 2000 WITH THRESHOLD often")
    expect(page.get_by_role("alert").filter(has_text="line 2, column 42")).to_be_visible()
    expect(page.locator(".code-fault")).to_contain_text("WITH THRESHOLD often")
    shoot(page, "queries-sql-fault")
    page.get_by_role("button", name="Form").click()
    expect(page.get_by_text("What you wrote as SQL is kept there")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="What you wrote as SQL is no query yet")).to_be_visible()
    page.get_by_role("button", name="SQL").click()
    expect(page.locator(".cm-content")).to_contain_text("WITH THRESHOLD often")
    write(page, "SELECT * FROM seismic A, acoustic B\nWHERE WINDOW(A, B) = 2000 WITH THRESHOLD 0.6")
    expect(page.locator(".code-fault")).to_have_count(0)
    page.get_by_role("button", name="Form").click()
    expect(page.get_by_label("plays stream").nth(1)).to_have_value("acoustic")
    expect(page.get_by_label("at most so far apart, s")).to_have_value("2")
    query = saved(page, line, "ptjoin")
    assert query["from"] == {"A": "seismic", "B": "acoustic"}
    assert query["within"] == [{"between": ["A", "B"], "window_s": 2, "threshold": 0.6}]


def take(page: Page, begun: str, word: str) -> None:
    """Write the beginning of a word, and take the one that is offered."""
    page.keyboard.type(begun)
    page.locator(".cm-tooltip-autocomplete").get_by_role("option", name=word, exact=False).first.click()


def test_json_offers_the_members_and_names_that_may_stand_there(open_page: OpenPage, line: Line) -> None:
    receiver = {"alertmanager": {"url": "http://127.0.0.1:9"}, "system": False}
    line.call("PUT", "alerting", "/v1/receivers/ops", json=receiver).raise_for_status()
    page = begun(open_page, "offered", "JSON")
    write(page, '{"from": {"a": "noise", "b": "noise"},\n"within": [{"between": ["a", "b"], "window_s": 1}], ')
    take(page, '"jo', "joint_threshold")
    page.keyboard.type("0.4, ")
    take(page, '"al', "alert")
    page.keyboard.type('{"to": ["')
    expect(page.locator(".cm-tooltip-autocomplete")).to_have_text("opsreceiver")
    shoot(page, "queries-json-offers")
    take(page, "o", "ops")
    page.keyboard.press("Control+End")
    page.keyboard.type(', "areas": [')
    take(page, '"har', "harbour")
    page.keyboard.press("Control+End")
    page.keyboard.type("}")
    query = saved(page, line, "offered")
    assert (query["joint_threshold"], query["alert"]["to"], query["areas"]) == (0.4, ["ops"], ["harbour"])
    for path in ("/v1/queries/offered", "/v1/receivers/ops"):
        line.call("DELETE", "alerting", path, headers={"If-Match": "*"}).raise_for_status()


def test_sql_offers_our_words_and_none_of_other_databases(open_page: OpenPage, line: Line) -> None:
    page = begun(open_page, "offered-sql", "SQL")
    write(page, "SELECT * FROM ")
    take(page, "nois", "noise")
    page.keyboard.type(" near, noise far WHERE WINDOW(")
    take(page, "ne", "near")
    page.keyboard.type(", far) = 2 s WITH ")
    take(page, "thr", "THRESHOLD")
    page.keyboard.type(" 0.6 IN")
    offered = page.locator(".cm-tooltip-autocomplete").get_by_role("option")
    expect(offered.filter(has_text="INTERVAL")).to_be_visible()
    expect(offered.filter(has_text="INSERT")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    query = saved(page, line, "offered-sql")
    assert query["within"] == [{"between": ["near", "far"], "window_s": 2, "threshold": 0.6}]


def test_a_fault_is_told_at_its_line_and_nothing_is_saved(open_page: OpenPage, line: Line) -> None:
    line.call("PUT", "alerting", "/v1/queries/broken", json=BANG).raise_for_status()
    page = open_page("/queries?query=broken")
    page.get_by_role("button", name="JSON").click()
    write(page, json.dumps({**BANG, "within": [{**BANG["within"][0], "threshold": 7}]}, indent=2))
    fault = page.locator(".field-fault").filter(has_text="threshold")
    expect(fault.first).to_contain_text("within[0].threshold is 7")
    expect(page.locator(".code-fault")).to_contain_text('"threshold": 7')
    shoot(page, "queries-fault")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="threshold").first).to_be_visible()
    assert known(line, "broken")["version"] == 1


#: What somebody types into which field, and what is said there.
FAULTS = [
    ("Name", "a/b", "“Name” is 'a/b'"),
    ("Name", ".", "“Name” is '.'"),
    ("Role 1", "1a", "“Role 1”: letters, digits and '_', starting with a letter"),
    ("Role 1", "b", "“Role 1” would be 'b', as another one"),
    ("at most so far apart, s", "1,5", "“at most so far apart, s” is '1,5': a number of seconds"),
    ("with probability at least", "60 %", "“with probability at least” is '60 %': above 0 and at most 1"),
    ("Probability of all together at least", "2", "“Probability of all together at least” is 2"),
    ("Events come so often a day", "seldom", "“Events come so often a day” is 'seldom'"),
    ("One episode while gaps are below, s", "-1", "“One episode while gaps are below, s” is -1"),
    ("Attribute that is equal in all", "x" * 150, "“Attribute that is equal in all” is 'attributes.xxx"),
]


def test_a_fault_of_the_form_is_told_at_its_field_in_its_words(open_page: OpenPage, line: Line) -> None:
    page = open_page("/queries?new=")
    page.get_by_label("Name").fill("at-its-field")
    faults = page.locator(".field-fault:not(:empty)")
    for field, typed, said in FAULTS:
        entry = page.get_by_label(field, exact=True)
        before = entry.input_value()
        type_into(entry, typed)
        at = page.locator(".field", has=entry).locator("> .field-fault")
        expect(at).to_contain_text(said)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(at).to_contain_text(said)
        expect(faults).to_have_count(1)
        type_into(entry, before)
        expect(faults).to_have_count(0)
    assert line.call("GET", "alerting", "/v1/queries/at-its-field").status_code == 404


def type_into(entry: Locator, text: str) -> None:
    entry.fill(text)
    entry.press("Tab")


def test_a_role_between_the_others_is_left_out_and_the_form_goes_on(open_page: OpenPage, line: Line) -> None:
    page = open_page("/queries?new=")
    page.get_by_label("Name").fill("left-out")
    page.get_by_role("button", name="Add a role").click()
    page.locator(".query-role").nth(2).get_by_label("plays stream").select_option("noise")
    page.get_by_role("button", name="Leave out the role b").click()
    expect(page.locator(".query-role")).to_have_count(2)
    assert saved(page, line, "left-out")["within"][0]["between"] == ["a", "c"]


def test_the_slider_says_what_the_run_says_and_what_is_applied_is_in_force(open_page: OpenPage, line: Line) -> None:
    line.call("PUT", "alerting", "/v1/queries/choosy", json=PAIR).raise_for_status()
    page = open_page("/queries?query=choosy")
    card = page.get_by_label("Threshold").first
    card.get_by_label("Over").select_option("other")
    card.get_by_label("From (RFC 3339)").fill("1987-02-23T07:30:00Z")
    card.get_by_label("To (RFC 3339)").fill("1987-02-23T07:40:00Z")
    card.get_by_role("button", name="Look").click()
    slider = card.locator("input[type=range]")
    expect(slider).to_be_visible()
    asked = {"from": "1987-02-23T07:30:00Z", "to": "1987-02-23T07:40:00Z", "min_threshold": 0.02}
    run = line.call("POST", "alerting", "/v1/queries/choosy/what-if", json=asked).json()
    counts = {each["threshold"]: each["matches"] for each in run["curve"]}
    assert counts[0.1] > counts[0.3] > 0
    assert_steps(card, counts)
    for threshold in (0.16, 0.36, 0.1):
        slider.fill(f"{threshold}")
        expect(card.locator(".slider-sentence")).to_contain_text(
            f"At {threshold:.2f}: {counts[threshold]} matches in 10 min instead of {counts[0.3]}"
        )
        expect(card.locator(".slider-sentence")).to_have_attribute(
            "title", re.compile(f"matches {counts[threshold]}, ")
        )
    expect(card).to_contain_text("These would come")
    slider.fill("0.4")
    expect(card).to_contain_text("These would go")
    for step in range(41, 51):
        slider.fill(f"{step / 100}")
    slider.fill("0.1")
    expect(card).to_contain_text("These would come")
    until(lambda: [each["keeps_matches"] for each in asked_of(line, "choosy")] == [False])
    shoot(page, "queries-slider")
    card.get_by_label("Why (for the audit trail)").fill("to see more pairs")
    card.get_by_role("button", name="Apply this threshold").click()
    until(lambda: known(line, "choosy")["version"] == 2)
    assert known(line, "choosy")["query"]["within"][0]["threshold"] == 0.1
    expect(page.get_by_label("Versions")).to_contain_text("within[0].threshold: 0.3 → 0.1")


def test_the_slider_draws_what_time_slides_say_of_chance_too(open_page: OpenPage, line: Line) -> None:
    line.call("PUT", "alerting", "/v1/queries/slid", json=PAIR).raise_for_status()
    page = open_page("/queries?query=slid")
    card = page.get_by_label("Threshold").first
    card.get_by_label("Over").select_option("other")
    card.get_by_label("From (RFC 3339)").fill(NOISY["from"])
    card.get_by_label("To (RFC 3339)").fill(NOISY["to"])
    card.get_by_label("Chance by").select_option("100")
    card.get_by_role("button", name="Look").click()
    expect(card).to_contain_text("At the query's own threshold 100 time slides give")
    asked = {**NOISY, "min_threshold": 0.02, "slides": 100}
    run = line.call("POST", "alerting", "/v1/queries/slid/what-if", json=asked).json()
    expect(card).to_contain_text(f"{run['slides']['chance']:.3g} matches by chance")
    [own] = [each for each in run["curve"] if each["threshold"] == 0.3]
    expect(card).to_contain_text(f"the formula gives {own['chance']:.3g}.")
    for name in ("by chance", "by time slides"):
        expect(card.locator(".chart").get_by_text(name, exact=True)).to_be_visible()
    shoot(page, "queries-slider-slides")


def asked_of(line: Line, id_: str) -> list[dict[str, Any]]:
    """Return what was asked of the runs of a query; other tests ask for runs, too."""
    asked = (each["request"] for each in line.items("history-runs"))
    return [each for each in asked if each["query"]["id"] == id_]


def assert_steps(card: Locator, counts: dict[float, int]) -> None:
    """See that the curve goes up and across only, and down right behind a threshold that fewer matches follow."""
    drawn = card.locator(f'.chart path[stroke="{BLUE}"][fill="none"]').first.get_attribute("d")
    corners = [tuple(map(float, each)) for each in re.findall(r"[ML]\s*([\d.]+)[ ,]+([\d.]+)", drawn or "")]
    assert all(x == x_ or y == y_ for (x, y), (x_, y_) in pairwise(corners))
    falls = next(x for (x, y), (_, below) in pairwise(corners) if y != below)
    (begin, _), (end, _), (least, most) = corners[0], corners[-1], (min(counts), max(counts))
    before = next(one for one, other in pairwise(sorted(counts)) if counts[one] > counts[other])
    assert falls == pytest.approx(begin + (before - least) / (most - least) * (end - begin), abs=0.01)


def test_where_one_slider_cannot_move_all_thresholds_it_says_so(open_page: OpenPage, line: Line) -> None:
    roles = {"a": "neutrino", "b": "neutrino", "c": "neutrino"}
    windows = [{"between": two, "window_s": 10, "threshold": t} for two, t in ((["a", "b"], 0.1), (["b", "c"], 0.2))]
    query = {"from": roles, "within": windows, "coalesce": {"gap_s": 10}}
    line.call("PUT", "alerting", "/v1/queries/uneven", json=query).raise_for_status()
    page = open_page("/queries?query=uneven")
    card = page.get_by_label("Threshold").first
    card.get_by_label("Over").select_option("other")
    card.get_by_label("From (RFC 3339)").fill("1987-02-23T07:30:00Z")
    card.get_by_label("To (RFC 3339)").fill("1987-02-23T07:40:00Z")
    card.get_by_role("button", name="Look").click()
    expect(card).to_contain_text("Its windows have different thresholds")
    expect(card.get_by_role("button", name="Apply this threshold")).to_have_count(0)
    expect(card.locator(".chart").get_by_text("episodes")).to_be_visible()
    shoot(page, "queries-slider-uneven")


def test_a_query_that_breaks_a_limit_is_suspended_and_says_why(open_page: OpenPage, line: Line) -> None:
    query = {**BANG, "limits": {"max_matches_per_s": 1}}
    line.call("PUT", "alerting", "/v1/queries/zz-loud", json=query).raise_for_status()
    until(lambda: salvo(line) and known(line, "zz-loud")["suspended"] != [])
    page = open_page("/queries")
    row = page.get_by_label("Queries", exact=True).locator("tbody tr").first  # suspended ones come first
    expect(row.get_by_role("link", name="zz-loud")).to_be_visible()
    reached = known(line, "zz-loud")["suspended"][0]["reached"]
    expect(row).to_contain_text(f"Suspended in harbour: max_matches_per_s allows 1, and {reached:g} were reached.")
    row.get_by_role("link", name="zz-loud").click()
    state = page.get_by_label("State")
    expect(state.locator(".state-word")).to_have_text("Suspended")
    shoot(page, "queries-suspended")
    state.get_by_role("button", name="Resume").click()
    expect(page.get_by_label("State").locator(".state-word")).to_have_text("Running")
    headers = {"If-Match": f'"{known(line, "zz-loud")["version"]}"'}
    line.call("DELETE", "alerting", "/v1/queries/zz-loud", headers=headers).raise_for_status()


def salvo(line: Line) -> bool:
    """Have two microphones hear five bangs in half a second: too many matches, however fast they are posted."""
    at_us = time.time_ns() // 1000 - 500_000
    heard = [{"sensor": f"mic-{nth}", "detected_at": at_us + 100_000 * bang} for bang in range(5) for nth in (1, 3)]
    return line.post([{"stream": "noise", **each} for each in heard]).is_success


def test_a_query_is_paused_resumed_and_removed(open_page: OpenPage, line: Line) -> None:
    line.call("PUT", "alerting", "/v1/queries/gone", json=BANG).raise_for_status()
    page = open_page("/queries?query=gone")
    state = page.get_by_label("State")
    for act, other, word in (("Pause", "Resume", "Paused"), ("Resume", "Pause", "Running")):
        expect(state.get_by_role("button", name=other, exact=True)).to_be_hidden()
        with opened_anew(page):
            state.get_by_role("button", name=act, exact=True).click()
        expect(state.locator(".state-word")).to_have_text(word)
    state.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Remove it for good").click()
    expect(page.get_by_role("heading", name="Queries")).to_be_visible()
    assert line.call("GET", "alerting", "/v1/queries/gone").status_code == 404
