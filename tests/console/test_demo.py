"""The console of the demo, with Kafka and Spark: what a newcomer sees in the first minute."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect

from deploy.local.system import HARBOUR, System
from tests.console.conftest import Visits, running_browser, shoot, until_chart
from tests.integration.topics import records_of
from tests.integration.webhook_sink import SECRET, running_sink
from tests.patience import until

pytestmark = pytest.mark.jvm
OpenPage = Callable[..., Page]
THUD = "thud-of-demo"


@pytest.fixture(scope="module")
def browser() -> Iterator[Visits]:
    """A browser of these tests' own, for they share the system, and with it the worker, with others."""
    with running_browser() as visits:
        yield visits


@dataclass(frozen=True)
class ConsoleOfDemo:
    """The console that the system runs, in the place of the one that the other modules share."""

    url: str


@pytest.fixture(scope="module")
def console(system: System) -> ConsoleOfDemo:
    return ConsoleOfDemo(system.layout.url("console"))


def test_1987_and_now_are_seen_within_a_minute(open_url: OpenPage, system: System, neutrinos: object) -> None:
    url = system.layout.url("console")
    at_root = httpx2.get(system.layout.url("alerting"))
    assert (at_root.status_code, at_root.headers["location"]) == (307, f"{url}/")
    system.supervision.start_process(HARBOUR)
    try:
        page = open_url(f"{url}/")
        expect(page.locator(".moment", has_text="harbour")).to_contain_text("may have happened together")
        shoot(page, "demo-now")
        moment = page.locator(".moment", has_text="sn1987a")
        expect(moment).to_have_count(1)
        expect(moment).to_contain_text("One event, 97.8 %.")
        if not moment.is_visible():  # other tests have had areas of their own since
            page.locator(".more-moments summary").click()
        moment.get_by_role("link", name="Show 1987-02-23").click()
        page.wait_for_url(re.compile("query=supernova"))
        shoot(page, "demo-1987")
        page.locator("tr", has_text="supernova").get_by_role("button", name="Evidence").click()
        expect(page.get_by_role("complementary")).to_contain_text("One event, 97.8 %.")
        shoot(page, "demo-evidence")
    finally:
        system.supervision.stop_process(HARBOUR)


def test_a_newcomer_asks_is_told_and_sees_that_all_is_well(open_url: OpenPage, system: System) -> None:
    """The main story of each page over Kafka and Spark: an edit lands in the topic of queries, and a webhook rings."""
    url = system.layout.url("console")
    system.supervision.start_process(HARBOUR)
    try:
        with running_sink() as sink:
            page = open_url(f"{url}/alerts")
            make_webhook(page, sink.url)
            ask(page, url)
            told = queries_on_kafka(system)
            assert [each["query"]["joint_threshold"] for each in told] == [0.3, 0.2]
            assert told[-1]["query"] == system.alerting.get(f"/v1/queries/{THUD}").json()["query"]
            until(lambda: any(each["data"]["title"] == "Thud in harbour" for each in sink.events), 60.0)
            assert sink.faults == []
        page.goto(f"{url}/queries")
        row = page.locator("tr", has=page.get_by_role("link", name=THUD, exact=True))
        expect(row).to_contain_text("Running")
        expect(row).to_contain_text(re.compile(r"[1-9]\d* match"))
        shoot(page, "demo-queries")
        page.goto(f"{url}/alerts")
        expect(page.locator("tr", has_text="Thud in harbour").first).to_be_visible()
        shoot(page, "demo-alerts")
        until(lambda: "ago" in sensor_row(page, url, "mic-1"), 60.0)  # fusion has told of it on coincide.sensor-health
        shoot(page, "demo-sensors")
        page.goto(f"{url}/health")
        expect(page.get_by_label("What is wrong now")).to_contain_text(
            "Every part answers, and no alert of the system fires."
        )
        for name in ("Ingest", "Kafka", "Fusion", "Alerting"):
            station = page.locator(".station", has=page.get_by_role("heading", name=name)).first
            expect(station).to_contain_text("Well")
        shoot(page, "demo-health")
    finally:
        system.supervision.stop_process(HARBOUR)
        etag = system.alerting.get(f"/v1/queries/{THUD}").headers.get("etag", "*")
        system.alerting.delete(f"/v1/queries/{THUD}", headers={"If-Match": etag})
        system.alerting.delete(f"/v1/receivers/{THUD}", headers={"If-Match": "*"})


def make_webhook(page: Page, url: str) -> None:
    """Make a receiver, and see that it takes a test."""
    receivers = page.get_by_label("Receivers", exact=True)
    receivers.get_by_role("button", name="New receiver").click()
    receivers.get_by_label("Name").fill(THUD)
    receivers.get_by_label("URL that gets each message").fill(url)
    receivers.get_by_label("Secret that signs each message").fill(SECRET)
    receivers.get_by_role("button", name="Save").click()
    row = receivers.locator("tr", has_text=THUD)
    row.get_by_role("button", name="Send a test").click()
    expect(row.get_by_role("status")).to_contain_text("It was taken")


def ask(page: Page, url: str) -> None:
    """Make a query out of an example, with somebody to tell; then lower its threshold. Fusion takes both."""
    page.goto(f"{url}/queries?new=two-of-three")
    page.get_by_label("Name").fill(THUD)
    for nth in range(3):
        page.get_by_label("plays stream").nth(nth).select_option("noise")
    page.get_by_label("Tell somebody").select_option("critical")
    page.get_by_label("Title").fill("Thud in {area}")
    page.get_by_label("Receivers (none: all of them)").fill(THUD)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name=f"Query {THUD}")).to_be_visible()
    state = page.get_by_label("State").locator(".state-word")
    expect(state).to_have_text("Running")
    page.get_by_label("Probability of all together at least").fill("0.2")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Versions")).to_contain_text("joint_threshold: 0.3 → 0.2")
    expect(state).to_have_text("Running")


def queries_on_kafka(system: System) -> list[Any]:
    """Return what stands about the query on the topic, oldest first."""
    written = [each.value for each in records_of(system.layout.bootstrap, "coincide.queries") if each.value]
    return [each for each in written if each.get("query", {}).get("id") == THUD]


def sensor_row(page: Page, url: str, sensor: str) -> str:
    page.goto(f"{url}/sensors")
    return page.get_by_label("Sensors", exact=True).locator("tr", has_text=sensor).inner_text()


@pytest.mark.kills
def test_a_console_that_is_killed_comes_back_to_its_page(open_url: OpenPage, system: System) -> None:
    open_url.faults.expected.append("ERR_CONNECTION_REFUSED")  # type: ignore[attr-defined]
    page = open_url(f"{system.layout.url('console')}/?area=harbour")
    until_chart(page, "scene.rows.length > 2")
    page.evaluate("window.isOld = true")
    system.kill("console")
    system.wait_ready()
    page.wait_for_function("window.isOld === undefined")  # the page was opened anew, by itself
    until_chart(page, "scene.rows.length > 2")
    expect(page).to_have_url(re.compile(r"area=harbour$"))
