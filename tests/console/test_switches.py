"""The two switches of every page in a real browser: times in UTC or here, dark or light."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import painted, shoot, until_chart
from tests.console.line import Line

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]


def test_times_are_said_here_or_in_utc_everywhere_on_the_page(open_page: OpenPage, line: Line) -> None:
    page = open_page("/?from=1987-02-23T07:35:00Z&to=1987-02-23T07:36:30Z")
    until_chart(page, "scene.matches.size > 100")
    story, rows = page.locator(".moment", has_text="sn1987a"), page.locator("table.plain tbody")
    expect(story).to_contain_text("1987-02-23 at 08:35:")  # Europe/Rome
    expect(rows).to_contain_text("1987-02-23 08:35:")
    there = painted(page)
    page.get_by_role("button", name=re.compile("show times in UTC")).click()
    expect(story).to_contain_text("1987-02-23 at 07:35:")
    expect(rows).to_contain_text("1987-02-23 07:35:")
    until_chart(page, "chart.times.zone === 'UTC'")
    assert (painted(page)["from"], painted(page)["to"]) == (there["from"], there["to"])
    shoot(page, "now-utc")
    page.goto(page.url.split("?")[0] + "queries")
    changed = page.locator("td[title*=version]").first
    expect(changed).to_have_attribute("title", re.compile("UTC$"))
    page.get_by_role("button", name=re.compile("show times in local time")).click()
    expect(changed).to_have_attribute("title", re.compile("Europe/Rome$"))


@pytest.mark.parametrize(("system", "other"), [("light", "dark"), ("dark", "light")])
def test_the_theme_is_the_systems_until_somebody_wants_the_other(open_page: OpenPage, system: str, other: str) -> None:
    page = open_page("/queries?query=bang", color_scheme=system)
    page.get_by_role("button", name="JSON").click()
    editor = page.locator(".cm-editor")
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}
    expect(page.locator("body")).to_have_class(re.compile(f"body--{system}"))
    expect(editor).to_have_css("background-color", colours[system])
    page.get_by_role("button", name="Dark or light").click()
    expect(page.locator("body")).to_have_class(re.compile(f"body--{other}"))
    expect(editor).to_have_css("background-color", colours[other])
    shoot(page, f"queries-json-{other}")
    page.reload()
    expect(page.locator("body")).to_have_class(re.compile(f"body--{other}"))
    page.get_by_role("button", name="Dark or light").click()
    expect(page.locator("body")).to_have_class(re.compile(f"body--{system}"))
