"""The console of the demo with its archive, with Kafka and Spark: what a threshold would give, and what was found."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from deploy.local.system import System
from services.demo.sn1987a import TWO_OF_THREE
from tests.console.conftest import Visits, running_browser, shoot

pytestmark = pytest.mark.jvm
OpenPage = Callable[..., Page]
FROM, TO = "1987-02-23T07:30:00Z", "1987-02-23T07:40:00Z"


@pytest.fixture(scope="module")
def browser() -> Iterator[Visits]:
    """A browser of these tests' own, for they share the system, and with it the worker, with others."""
    with running_browser() as visits:
        yield visits


def test_the_slider_says_of_1987_what_rest_says(open_url: OpenPage, system: System, neutrinos: object) -> None:
    page = open_url(f"{system.layout.url('console')}/queries?query={TWO_OF_THREE}")
    card = page.get_by_label("Threshold").first
    card.get_by_label("Over").select_option("other")
    card.get_by_label("From (RFC 3339)").fill(FROM)
    card.get_by_label("To (RFC 3339)").fill(TO)
    card.get_by_role("button", name="Look").click()
    slider = card.locator("input[type=range]")
    expect(slider).to_be_visible()
    asked: dict[str, str | float] = {"from": FROM, "to": TO, "min_threshold": 0.02}
    run = system.alerting.post(f"/v1/queries/{TWO_OF_THREE}/what-if", json=asked).json()
    assert run["state"] == "done"  # the very run that the page asked for
    counts = {each["threshold"]: each["matches"] for each in run["curve"]}
    higher = counts[min(each for each in counts if each >= 0.1)]
    assert counts[0.02] >= counts[0.04] > higher > 0
    for threshold, count in ((0.02, counts[0.02]), (0.1, higher)):
        slider.fill(f"{threshold}")
        said = f"At {threshold:.2f}: {count:,} matches in 10 min instead of {counts[0.04]:,}"
        expect(card.locator(".slider-sentence")).to_contain_text(said)
    expect(card).to_contain_text("These would go")
    shoot(page, "demo-slider")


def test_a_run_over_1987_found_what_was_live(open_url: OpenPage, system: System, neutrinos: object) -> None:
    page = open_url(f"{system.layout.url('console')}/history")
    form = page.get_by_label("Ask for a run")
    form.evaluate("(form) => { form.open = true; }")
    form.get_by_label("Query").select_option(TWO_OF_THREE)
    form.get_by_label("Range").select_option("")
    form.get_by_label("From (Europe/Rome)").fill("1987-02-23T08:00:00")
    form.get_by_label("To (Europe/Rome)").fill("1987-02-23T09:00:00")
    form.get_by_role("button", name="Ask", exact=True).click()
    chosen = page.get_by_label("The chosen run")
    expect(chosen).to_contain_text("It is done. It found")
    page.get_by_label("This run with").select_option("live")
    said = page.get_by_label("Compare").get_by_role("status")
    expect(said).to_contain_text(re.compile(r"0 added, 0 gone, 0 changed, [1-9]\d* same"))
    shoot(page, "demo-history")
