"""The largest rate that the whole line sustains: POSTs of 500, 64 areas, one query over two streams, D = 10 s.

The rate rises step by step. A step is sustained if what should have been posted but is not joined yet, or is joined but
not stored, does not grow during its second half. Broker, ingest, fusion, alerting and the load itself share the
machine's cores; the table says who used how much. Wall time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import mean
from typing import NamedTuple

import httpx2

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.line.gateways import OpenLoop
from benchmarks.line.whole_line import DETECTIONS_PER_MATCH, PROCESSES, body_now, cpu_by_process, running
from deploy.host.machine import wait_until
from deploy.local.system import System

MAX_DELAY_S = 10.0
DETECTIONS_PER_POST = 500
STEPS_PER_S = (10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000, 80_000)
GROWTH_S = 0.5
"""By how much the backlog may differ from one half of a step to the other, in seconds of load: a batch is one lump."""


class Step(NamedTuple):
    """One rate, tried.

    `backlogs_s` are means of the second and of the last quarter of the step, in seconds of load: what was to be posted
    by then and is not yet joined, or joined but its matches not stored. `cores`: CPU by process.
    """

    rate: int
    backlogs_s: tuple[float, float]
    cores: dict[str, float]

    @property
    def is_sustained(self) -> bool:
        return self.backlogs_s[1] - self.backlogs_s[0] <= GROWTH_S


class Progress(NamedTuple):
    """What the line's own metrics say: detections joined, matches found, and matches stored."""

    joined: float
    found: float
    stored: float

    @classmethod
    def of(cls, system: System) -> Progress:
        fusion, alerting = (httpx2.get(f"{system.layout.url(of)}/metrics").text for of in ("fusion", "alerting"))
        totals = ((fusion, "fusion_detections"), (fusion, "fusion_matches"), (alerting, "alerting_matches"))
        return cls(*(total(text, f"coincide_{name}_total") for text, name in totals))

    def backlog(self, offered: int) -> float:
        """Return how many of the detections offered have not come through."""
        return offered - self.joined + max(0.0, self.found - self.stored) * DETECTIONS_PER_MATCH


def total(text: str, name: str) -> float:
    """Return what a metric counts, all its labels together."""
    return sum(float(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE))


def try_step(system: System, load: OpenLoop, rate: int, seconds: float) -> Step:
    """Offer one rate for ``seconds`` and watch the backlog; return when all has come through."""
    used_s, start_s, backlogs_s = cpu_by_process(system), time.monotonic(), list[float]()
    with ThreadPoolExecutor(1) as apart:
        answered = apart.submit(load.offer, rate, seconds)
        while (took_s := time.monotonic() - start_s) < seconds and not answered.done():
            backlogs_s.append(Progress.of(system).backlog(load.offered) / rate)
            time.sleep(0.25)
        cores = {name: (now_s - used_s[name]) / took_s for name, now_s in cpu_by_process(system).items()}
        answered.result(120)
    if not wait_until(lambda: Progress.of(system).backlog(load.offered) <= 0, 180):
        raise SystemExit(f"not all of {load.offered} detections came through within 180 s")
    quarter = len(backlogs_s) // 4
    return Step(rate, (mean(backlogs_s[quarter : 2 * quarter]), mean(backlogs_s[-quarter:])), cores)


def rows(system: System, options: Options) -> Iterator[list[object]]:
    """Yield step after step until one is not sustained."""
    seconds, rates = (8, STEPS_PER_S[:1]) if options.quick else (40, STEPS_PER_S)
    load = OpenLoop(system.layout.ports.ingest, DETECTIONS_PER_POST, body_now)
    load.offer(2_000, seconds / 4)  # warm up
    for rate in rates:
        step = try_step(system, load, rate, seconds)
        backlog = "{:.2f}, {:.2f}".format(*step.backlogs_s)
        cores = [f"{step.cores[name]:.2f}" for name in (*PROCESSES, "load")]
        yield [rate, "yes" if step.is_sustained else "no", backlog, *cores]
        if not step.is_sustained:
            return


def tables(options: Options) -> Iterator[Table]:
    cores = [f"{name} cores" for name in (*PROCESSES, "load")]
    with running(MAX_DELAY_S) as system:
        yield Table(["offered/s", "sustained", "backlog s: 2nd and last quarter", *cores], rows(system, options))


BENCHMARKS = [Benchmark("throughput", "detections a second that the whole line sustains", [tables], is_service=True)]
