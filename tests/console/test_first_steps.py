"""First steps in a real browser, over a line on which nothing is declared: a sensor, a query, and the demo."""

import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import running_console, shoot, until_chart
from tests.console.line import Line, running_line
from tests.console.test_commands import copied, run
from tests.integration.service_process import ServiceProcess

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]
LOADED = "/v1/queries/supernova"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    with running_line(tmp_path_factory.mktemp("bare"), is_bare=True) as line:
        yield line


@pytest.fixture(scope="module")
def of_bare(bare: Line, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with running_console(tmp_path_factory.mktemp("bare-console"), bare) as console:
        yield console


def test_a_newcomer_defines_a_sensor_takes_a_query_and_loads_the_demo_also_by_copied_commands(
    open_page: OpenPage, bare: Line, of_bare: ServiceProcess
) -> None:
    page = open_page("/", url=of_bare.url, permissions=["clipboard-read", "clipboard-write"])
    steps = page.get_by_role("list").filter(has_text="See it work")
    expect(steps).to_contain_text("There is no sensor yet that could report")
    shoot(page, "first-steps-bare")
    steps.get_by_role("link", name="Define a sensor").click()
    refused = page.get_by_role("alert")
    page.get_by_role("button", name="Save").click()
    expect(refused).to_have_text("Give the sensor a name.")
    page.get_by_label("Name", exact=True).fill("mast")
    page.get_by_role("button", name="Save").click()
    expect(refused).to_contain_text("Give the sensor an area")
    page.get_by_label("Area").fill("bay")
    page.get_by_role("button", name="Save").click()
    expect(refused).to_contain_text("Choose at “Reports” a stream")
    page.get_by_label("Reports").select_option("noise")
    page.get_by_role("button", name="Save").click()
    expect(refused).to_contain_text("Choose how late or wrong its reports are")  # Save alone supposes nothing
    page.get_by_label("Template of noise").select_option("latency")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Sensor mast")).to_be_visible()

    page.goto(f"{of_bare.url}/queries")
    expect(page.get_by_text("Nothing is asked yet")).to_be_visible()
    page.get_by_role("link", name="Two of three").click()
    page.get_by_label("Name").fill("first")
    expect(page.get_by_label("plays stream").first).to_have_value("noise")  # the one that a sensor reports
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Query first")).to_be_visible()
    assert bare.call("GET", "alerting", "/v1/queries/first").json()["query"]["at_least"] == 2

    page.goto(of_bare.url)
    steps.get_by_role("link", name="Make a receiver").click()
    expect(page.get_by_text("at “Tell somebody”")).to_be_visible()
    expect(page.get_by_role("button", name="New receiver")).to_be_visible()

    buoy = {"area": "bay", "streams": {"noise": {"uniform": [-1, 0]}}}
    bare.call("PUT", "ingest", "/v1/sensors/buoy", json=buoy).raise_for_status()
    page.goto(of_bare.url)
    steps.get_by_label("Sensor").select_option("mast")
    reporting, loading = (copied(steps, words) for words in ("Report something of now", "Load what they saw"))
    steps.get_by_role("button", name="Load what they saw").click()
    story = page.locator(".moment", has_text="sn1987a")
    expect(story).to_contain_text(
        re.compile("What baksan, imb and kamiokande-ii saw .* on 1987-02-23.* One event, 97.8 %.")
    )
    shoot(page, "first-steps-loaded")
    story.get_by_role("link").click()
    until_chart(page, "scene.matches.size > 0")

    run(reporting)
    seen = {(each["sensor"], each["stream"]) for each in bare.call("GET", "ingest", "/v1/detections").json()["items"]}
    assert {each for each in seen if each[1] == "noise"} == {("mast", "noise")}
    bare.call("DELETE", "alerting", LOADED, headers={"If-Match": "*"}).raise_for_status()
    subprocess.run(["bash", "-c", loading], check=True, capture_output=True, timeout=60)
    loaded = bare.call("GET", "alerting", LOADED).json()
    assert loaded["applied_version"] == loaded["version"]
