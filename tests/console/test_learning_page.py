"""Learning templates on the page History in a real browser: ask, look at what was learnt, and accept it."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import psutil
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import shoot
from tests.console.line import Line
from tests.console.past import running_past
from tests.console.test_commands import WHY, run_copied
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
RUNS = "/v1/learning-runs"
BEGIN_S, EVENTS = 546_307_200, 120  # 1987-04-25T00:00:00Z, and an event a minute
SLOW = '<img src=x onerror="window.hacked=1">'
#: How late each reports on average; they are declared to be up to 8 s late.
LATE_S = {"ear-a": 1.0, SLOW: 5.0}


@pytest.fixture(scope="module", autouse=True)
def past(line: Line, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two microphones and a geophone that is right, in the archive; other modules find the sensors as they were."""
    templates: dict[str, Any] = {"geo": {"point": True}, **{name: {"uniform": [-8, 0]} for name in LATE_S}}
    for name, template in templates.items():
        document = {"area": "lab", "streams": {"seismic" if name == "geo" else "acoustic": template}}
        line.call("PUT", "ingest", f"/v1/sensors/{quote(name, safe='')}", json=document).raise_for_status()
    for nth in range(0, len(items := reports()), 200):
        some = items[nth : nth + 200]
        assert line.post(some).raise_for_status().json()["accepted"] == len(some)
    with running_past(line, tmp_path_factory.mktemp("past")):
        yield
    line.registry.replace([line.sensors])
    line.proposals.clear()


def reports() -> list[dict[str, Any]]:
    rng = np.random.default_rng(1987)
    late = {"geo": np.zeros(EVENTS)} | {name: rng.normal(late_s, 0.2, EVENTS) for name, late_s in LATE_S.items()}
    items = [
        {"sensor": name, "id": f"{name}-{nth}", "detected_at": round((BEGIN_S + 60 * nth + late_s) * 1e6)}
        for name, of in late.items()
        for nth, late_s in enumerate(of.tolist())
    ]
    return sorted(items, key=lambda item: item["detected_at"])


def filled_in(page: Page, *, longest_s: str = "20", to: str = "1987-04-25T04:00:00") -> Locator:
    form = page.get_by_label("Learn templates")
    form.locator("summary").click()
    form.get_by_label("Taken to be right").select_option("seismic")
    form.get_by_label("Range").select_option("")
    form.get_by_label("From (Europe/Rome)").fill("1987-04-25T02:00:00")  # UTC+2
    form.get_by_label("To (Europe/Rome)").fill(to)
    form.get_by_label("Longest error in s").fill(longest_s)
    form.get_by_label("Why (for the audit trail)").fill(WHY)
    return form


def test_templates_are_learnt_looked_at_and_accepted(open_page: OpenPage, line: Line) -> None:
    page = open_page("/history")
    form = filled_in(page, longest_s="-20")
    form.get_by_role("button", name="Learn", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("within: ")
    form.get_by_label("Longest error in s").fill("20")
    form.get_by_role("button", name="Learn", exact=True).click()
    page.wait_for_url(re.compile(r"/history\?learning=r-[0-9a-f]{32}$"))
    learnt = page.get_by_label("What was learnt")
    expect(learnt.get_by_role("status")).to_contain_text("It is done. There are 2 templates, 2 proposed")
    row = learnt.locator("tbody tr", has_text=SLOW)
    expect(row).to_contain_text(re.compile(r"120 errors.*nats an error better.*proposed"))
    expect(page.get_by_label("Learning", exact=True).locator("tr[aria-current]")).to_contain_text("the stream seismic")
    shoot(page, "history-learnt")
    [run] = line.call("GET", "alerting", RUNS).json()["items"]
    request = run["request"]
    assert (request["from_us"], request["to_us"]) == (BEGIN_S * 10**6, (BEGIN_S + 7200) * 10**6)
    assert (request["reference_stream"], request["lo_s"], request["hi_s"]) == ("seismic", -20, 20)
    changes = [(each["action"], each["why"]) for each in line.keys.changes if each["subject"] == run["run"]]
    assert changes == [("learning_run.asked", WHY)]
    learnt.get_by_role("link", name="Accept or reject what is proposed").click()
    page.get_by_role("link", name=SLOW).first.click()
    page.get_by_label("Learnt templates").get_by_role("button", name="Accept").click()
    path = f"/v1/sensors/{quote(SLOW, safe='')}"

    def mean_s() -> float:
        template = line.call("GET", "ingest", path).json()["streams"]["acoustic"]
        of = line.call("GET", "ingest", f"/v1/templates/{template}").json()
        edges, mass = np.array(of["edges_s"]), np.array(of["mass"])
        return float(np.sum((edges[:-1] + edges[1:]) / 2 * mass) / np.sum(mass))

    until(lambda: abs(mean_s() + LATE_S[SLOW]) < 0.1, 60, of=[psutil.Process()])
    page.wait_for_function("window.hacked === undefined")  # it may just be opened anew


def test_the_copied_command_learns_and_the_run_is_removed(open_page: OpenPage, line: Line) -> None:
    page = open_page("/history", permissions=["clipboard-read", "clipboard-write"], width=380)
    filled_in(page, to="1987-04-25T03:30:00")
    run_copied(page, "Learn")
    row = page.get_by_label("Learning", exact=True).locator("tbody tr", has_text="(90 min)")
    expect(row).to_contain_text("2 templates, 2 proposed")
    listed = line.call("GET", "alerting", RUNS).json()["items"]
    [run] = [each["run"] for each in listed if each["request"]["to_us"] == (BEGIN_S + 5400) * 10**6]
    shoot(page, "history-learning-phone")
    row.get_by_role("button", name="Remove").click()
    row.get_by_role("button", name="Remove it for good").click()
    until(lambda: line.call("GET", "alerting", f"{RUNS}/{run}").status_code == 404, 60, of=[psutil.Process()])


def test_a_run_that_is_not_there_and_one_that_looks_like_markup(open_page: OpenPage) -> None:
    page = open_page("/history?learning=%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E")
    expect(page.get_by_label("What was learnt").get_by_role("status")).not_to_have_text("Loading …")
    assert page.evaluate("window.hacked") is None
