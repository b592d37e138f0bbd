"""What people who look cost the line, and what they see: pages of the console in Chromium, beside a line under load.

1,000 detections a second come in POSTs of 20, to ten areas that a page shows together. Every page follows the present.
The id of a detection says when it was sent, and the page's clock when it was painted. Then the first page is filled
and pans, and the load goes on. Chromium shares the machine with the line, so its own CPU is a column. Two rows take
this share away: pages in Chromium that paint nothing, and pages that are open on other machines, as far as the line and
the console can tell. Wall time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import mean, quantiles
from typing import Any

import msgspec
import psutil
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from benchmarks.console.full_view import DETECTIONS, FILL, MATCHES, PAN, STOP_PAINTING, WATCH
from benchmarks.console.listeners import Listeners
from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.harness.rounds import cpu_seconds
from benchmarks.line import whole_line
from benchmarks.line.gateways import OpenLoop
from deploy.local.system import System
from tests.needs import BROWSERS, browser_program

RATE_HZ, PER_POST, AREAS = 1_000, 20, 10
SHOWN = "/?span=60&sensor=*-0%3F"  # a minute of those ten areas
VIEWPORT: ViewportSize = {"width": 1280, "height": 1300}  # all lanes fit
ROWS = {"0": 0, "1": 1, "10": 10, "10 that paint nothing": 10}  # in Chromium
ELSEWHERE, PAGES_ELSEWHERE = "10 on other machines", 10
LINE = ("kafka", "ingest", "fusion", "alerting")


@dataclass
class Measured:
    """What was measured of one row, over all turns."""

    posts_s: list[float] = field(default_factory=list)
    ages_s: list[float] = field(default_factory=list)
    frames_hz: list[float] = field(default_factory=list)
    cores: list[Counter[str]] = field(default_factory=list)

    def row(self, name: str) -> list[Any]:
        cores = [f"{mean(each[of] for each in self.cores):.2f}" for of in ("line", "console", "chromium")]
        frames = f"{mean(self.frames_hz):.0f}" if self.frames_hz else ""
        return [name, *_p50_p95(self.posts_s, 1000, 1), *_p50_p95(self.ages_s, 1, 2), frames, *cores]


def _p50_p95(seconds: list[float], factor: int, digits: int) -> list[str]:
    cuts = quantiles(seconds, n=100) if seconds else []
    return [f"{factor * cuts[percent - 1]:.{digits}f}" if cuts else "" for percent in (50, 95)]


def body(number: int, rate: float, count: int) -> bytes:
    """Return a POST whose detections say in their ids when they were sent."""
    sent_us, rate_of_area = time.time_ns() // 1000, rate / AREAS
    items = msgspec.json.decode(whole_line.body_at(sent_us, number % AREAS, rate_of_area * whole_line.AREAS, count))
    return msgspec.json.encode([{**each, "id": f"{sent_us}-{nth}"} for nth, each in enumerate(items)])


class Viewers:
    """A system under load, and the browser that looks at it."""

    def __init__(self, system: System, browser: Browser, seconds: float) -> None:
        self.load = OpenLoop(system.layout.ports.ingest, PER_POST, body)
        self._system, self._browser, self._seconds = system, browser, seconds

    def warm_up(self, seconds: float) -> None:
        """Offer the load for so long, with nobody looking."""
        with ThreadPoolExecutor(1) as pool:  # Playwright's event loop runs in this thread
            pool.submit(self.load.offer, RATE_HZ, seconds).result()

    def measure(self, name: str, into: Measured) -> None:
        """Open the pages of a row, measure under load, and close them."""
        with ThreadPoolExecutor(1) as pool, ExitStack() as opened:
            opening = pool.submit(self.load.offer, RATE_HZ, 5.0 + ROWS[name])
            contexts = [opened.enter_context(self._browser.new_context(viewport=VIEWPORT)) for _ in range(ROWS[name])]
            pages = [self._open(context) for context in contexts]
            opening.result()
            if "nothing" in name:
                for page in pages:
                    page.evaluate(STOP_PAINTING)
                self._stay(pool, pages, into)
            elif pages:
                pages[0].evaluate(WATCH)
                self._stay(pool, pages, into)
                into.ages_s += pages[0].evaluate("window.ages_s")
                into.frames_hz.append(self._pan(pool, pages[0]))
            else:
                self._stay(pool, pages, into)

    def measure_elsewhere(self, into: Measured) -> None:
        """Measure while pages are open that no browser of this machine shows."""
        with (
            Listeners(self._system.layout.url("console"), SHOWN, PAGES_ELSEWHERE) as pages,
            ThreadPoolExecutor(1) as pool,
        ):
            self.warm_up(5.0 + PAGES_ELSEWHERE)
            before = pages.heard
            self._stay(pool, [], into)
            heard = [now - then for now, then in zip(pages.heard, before, strict=True)]
        if min(heard) < self._seconds / 2:
            raise SystemExit(f"the pages on other machines did not hear of what came: {heard} messages")

    def _stay(self, pool: ThreadPoolExecutor, pages: list[Page], into: Measured) -> None:
        """Measure the POSTs and the CPU while the pages follow the present."""
        self.load.taken_s.clear()
        before, begun_s = self._cpu_s(), time.monotonic()
        offered = pool.submit(self.load.offer, RATE_HZ, self._seconds)
        while not offered.done():
            if pages:
                pages[0].wait_for_timeout(200)  # Playwright has to be listened to
            else:
                time.sleep(0.2)
        offered.result()
        spent_s, used_s = time.monotonic() - begun_s, self._cpu_s()
        into.cores.append(Counter({of: (used_s[of] - before[of]) / spent_s for of in used_s}))
        into.posts_s += self.load.taken_s

    def _open(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.goto(self._system.layout.url("console") + SHOWN)
        page.wait_for_function("document.querySelector('.timeline')?.chart.scene.detections.size > 100")
        return page

    def _pan(self, pool: ThreadPoolExecutor, page: Page) -> float:
        """Return frames a second while the full view pans and the load goes on."""
        offered = pool.submit(self.load.offer, RATE_HZ, self._seconds)
        page.evaluate(FILL)
        seen = page.evaluate(PAN, self._seconds / 2)
        offered.result()
        if (seen["detections"], seen["matches"]) != (DETECTIONS, MATCHES):
            raise SystemExit(f"in view were {seen}, not {DETECTIONS} detections and {MATCHES} matches")
        return float(seen["frames_hz"])

    def _cpu_s(self) -> Counter[str]:
        """Return the CPU seconds so far of the line, of the console, and of all of Chromium."""
        of_line = whole_line.cpu_by_process(self._system)
        console = psutil.Process(self._system.supervision.pid("console"))
        ours = psutil.Process().children(recursive=True)
        chromium = [each for each in ours if "chrom" in each.name() or "headless" in each.name()]
        named = {"console": cpu_seconds(console), "chromium": cpu_seconds(*chromium)}
        return Counter({"line": sum(of_line[each] for each in LINE), **named})


def measured(options: Options) -> dict[str, Measured]:
    """Return what was measured of each row; rows take turns."""
    warm_up_s, seconds = (4.0, 4.0) if options.quick else (15.0, 20.0)
    rows = {name: Measured() for name in (*ROWS, ELSEWHERE)}
    with whole_line.running(max_delay_s=120) as system, sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=browser_program(), args=arguments)
        viewers = Viewers(system, browser, seconds)
        viewers.warm_up(warm_up_s)
        for _ in range(options.rounds_of(2)):
            for name in ROWS:
                viewers.measure(name, rows[name])
            viewers.measure_elsewhere(rows[ELSEWHERE])
        browser.close()
    return rows


def tables(options: Options) -> Iterator[Table]:
    """Yield a row for each number of pages."""
    posts, pictures = ("POST p50 ms", "p95 ms"), ("POST to picture p50 s", "p95 s")
    headings = ("pages", *posts, *pictures, "frames/s while one pans", "line cores", "console cores", "Chromium cores")
    yield Table(headings, [each.row(name) for name, each in measured(options).items()])


def _why_not() -> str | None:
    return None if browser_program() else f"there is no browser here: none of {', '.join(BROWSERS)}"


BENCHMARKS = [
    Benchmark("viewers", "what pages of the console cost the line", [tables], why_not=_why_not, is_service=True)
]
