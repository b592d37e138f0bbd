"""Fixtures of the tests in a real browser: the line, a console of its own process, and Chromium."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, expect, sync_playwright

from deploy.host.machine import free_ports
from tests.browser import find_browser
from tests.console.line import Line, running_line
from tests.console.watched_line import WatchedLine, watched_line
from tests.integration.service_process import ServiceProcess, run_module
from tests.patience import until

SCREENSHOTS = os.environ.get("COINCIDE_SCREENSHOTS")
BLANK = "about:blank"
WAIT_MS = 120_000  # whatever a page waits for comes at last, however busy the machine is
expect.set_options(timeout=WAIT_MS)


@contextmanager
def running_console(folder: Path, line: Line, **settings: Any) -> Iterator[ServiceProcess]:
    """Run the console on `line`; it has to end by itself."""
    [port] = [settings["port"]] if "port" in settings else free_ports(1)
    own = {"port": port, "ingest_url": line.url("ingest"), "alerting_url": line.url("alerting"), **settings}
    console = ServiceProcess(port, run_module("services.console", folder / "console.log", "console", own))
    try:
        console.wait_for("/livez", 200)
        yield console
        assert console.stop() == 0
        assert not errors_in((folder / "console.log").read_text())
    finally:
        console.kill()


#: On a slow machine the server waits in vain for a page, or longer than 2 s for its tasks, of which none is left.
SLOW_END = re.compile(r"timeout graceful shutdown exceeded|Could not cancel \d+ tasks within timeout: \"")


def errors_in(log: str) -> list[str]:
    """Return the errors of a log that do not say merely that the end was slow."""
    return [line for line in log.splitlines() if '"level": "error"' in line and not SLOW_END.search(line)]


@pytest.fixture(scope="session")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """The line with what the three detectors saw in 1987, and a bang in the harbour of now."""
    with running_line(tmp_path_factory.mktemp("line")) as line:
        line.post_1987()
        until(lambda: len(line.call("GET", "alerting", "/v1/episodes").json()["items"]) == 2)
        yield line


@pytest.fixture(scope="session")
def console(line: Line, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with running_console(tmp_path_factory.mktemp("console"), line) as console:
        yield console


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedLine]:
    """A line whose fusion can be looked at, and whose parts may go away for a while."""
    with watched_line(tmp_path_factory.mktemp("watched")) as line:
        yield line


@pytest.fixture(scope="session")
def console_of_watched(watched: WatchedLine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    own = {"fusion_url": watched.url("fusion"), "docs_url": "https://docs.example/site/"}
    with running_console(tmp_path_factory.mktemp("console-of-watched"), watched, **own) as console:
        yield console


class Visits:
    """A browser, and in it the context of somebody who comes back test after test.

    Who comes back has at hand what pages fetch and compile, which is most of what it takes to open one.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._kept = self._context({})
        self._apart: list[BrowserContext] = []

    def page(self, *, is_apart: bool, **options: Any) -> Page:
        """Return a page of the one who comes back, or of somebody else with these options."""
        if is_apart or options:
            self._apart.append(self._context(options))
            return self._apart[-1].new_page()
        blank = (each for each in self._kept.pages if each.url == BLANK)
        return next(blank, None) or self._kept.new_page()

    def forget(self) -> None:
        """Forget what a test has left: the next one finds nobody signed in, and every switch as it is at first."""
        for context in self._apart:
            context.close()
        self._apart.clear()
        self._kept.clear_cookies(name=re.compile("^(?!coincide_zone)"))  # it is this browser's, whoever comes
        self._kept.clear_permissions()

    def leave(self) -> None:
        """Leave all pages."""
        for each in self._kept.pages[1:]:
            each.close()
        for each in self._kept.pages:
            each.goto(BLANK)

    def _context(self, options: Mapping[str, Any]) -> BrowserContext:
        context = self._browser.new_context(**{"timezone_id": "Europe/Rome", **options})
        context.set_default_timeout(WAIT_MS)
        return context


@contextmanager
def running_browser() -> Iterator[Visits]:
    """Run Chromium. While it is open an event loop runs in this thread; tests that run their own cannot go on."""
    found = find_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield Visits(browser)
        browser.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Visits]:
    with running_browser() as visits:
        yield visits


class Faults(list[str]):
    """What pages complained of; a complaint that has one of `expected` in it is none."""

    def __init__(self) -> None:
        super().__init__()
        self.expected: list[str] = []

    @property
    def unexpected(self) -> list[str]:
        return [each for each in self if not any(words in each for words in self.expected)]


@pytest.fixture
def open_url(browser: Visits) -> Iterator[Callable[..., Page]]:
    """Return what opens a page at an address; no page may complain of anything."""
    faults = Faults()
    opened: list[Page] = []

    def tell_error(error: Error) -> None:
        faults.append(f"error: {error}")

    def tell_said(said: ConsoleMessage) -> None:
        if said.type == "error":
            faults.append(said.text)

    def open_(url: str, *, width: int = 1280, height: int = 860, **options: Any) -> Page:
        scheme, granted = options.pop("color_scheme", "light"), options.pop("permissions", [])
        page = browser.page(is_apart=options.pop("is_apart", False), **options)
        opened.append(page)
        if granted:
            page.context.grant_permissions(granted)
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        page.on("pageerror", tell_error)
        page.on("console", tell_said)
        page.goto(url)
        return page

    open_.faults = faults  # type: ignore[attr-defined]
    yield open_
    browser.forget()
    for page in opened:
        page.remove_listener("pageerror", tell_error)
        page.remove_listener("console", tell_said)
    browser.leave()
    assert faults.unexpected == []


@pytest.fixture
def open_page(open_url: Callable[..., Page], console: ServiceProcess) -> Callable[..., Page]:
    """Return what opens a page of the console, or of another one at `url`."""

    def open_(path: str = "/", *, url: str | None = None, **options: Any) -> Page:
        return open_url((url or console.url) + path, **options)

    open_.faults = open_url.faults  # type: ignore[attr-defined]
    return open_


def shoot(page: Page, name: str) -> None:
    """Keep a picture of the page where COINCIDE_SCREENSHOTS names a folder."""
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True, style=".bar { position: static }")


@contextmanager
def opened_anew(page: Page) -> Iterator[None]:
    """Wait until what the block does has had the page opened anew: what stands there before is the old one."""
    page.evaluate("window.isOld = true")
    yield
    page.wait_for_function("window.isOld === undefined")
    page.wait_for_load_state()  # else the next address aborts what still loads


def painted(page: Page) -> dict[str, Any]:
    """Return what the timeline has painted and holds."""
    script = """() => {
        const chart = document.querySelector(".timeline")?.chart;
        if (!chart) return {matches: 0, detections: 0, episodes: 0, alerts: 0};
        const {scene} = chart;
        return {matches: scene.matches.size, detections: scene.detections.size, episodes: scene.episodes.size,
          alerts: scene.alerts.size, rows: scene.rows.map((each) => each.label),
          from: chart.from, to: chart.to, follows: chart.follows, frames: chart.frames, painted: chart.painted};
    }"""
    return dict(page.evaluate(script))


def until_chart(page: Page, condition: str) -> None:
    """Wait until `condition` holds of the timeline `chart` and its `scene`."""
    within = "() => { const chart = document.querySelector('.timeline')?.chart; if (!chart) return false; "
    page.wait_for_function(f"{within} const {{scene, frames, span, follows}} = chart; return {condition}; }}")


def serious_faults(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Return what axe-core finds, by these rules or all, that keeps somebody from using the page."""
    options = {"resultTypes": ["violations"], **({"runOnly": {"type": "rule", "values": rules}} if rules else {})}
    found = Axe().run(page, options=options).response["violations"]
    serious = [each for each in found if each["impact"] in {"serious", "critical"}]
    return [f"{each['id']}: {node['html'][:200]}" for each in serious for node in each["nodes"]]
