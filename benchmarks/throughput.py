"""The largest rate that the whole line sustains: POSTs of 500, 64 areas, one query over two streams, D = 10 s.

`python -m benchmarks.throughput`: the rate rises step by step. A step is sustained if what
should have been posted but is not joined yet, or is joined but not stored, does not grow during its second half.
Broker, ingest, fusion, alerting and the load itself share the machine's cores; the table says who used how much.
"""

from __future__ import annotations

import argparse
import re
import threading
import time
from dataclasses import dataclass
from statistics import mean

import httpx

from benchmarks import whole_line
from benchmarks.open_loop import DETECTIONS_PER_POST, Load
from deploy.local.system import System
from deploy.local.waiting import wait_until

MAX_DELAY_S = 10.0
WANTED_PER_S = 20_000
STEPS_PER_S = (10_000, 20_000, 30_000, 40_000, 50_000, 60_000)
GROWTH_S = 0.5
"""By how much the backlog may differ from one half of a step to the other, in seconds of load: a batch is one lump."""


@dataclass(frozen=True)
class Step:
    """One rate, tried.

    Attributes
    ----------
    backlogs_s
        Mean of the second and of the last quarter of the step, in seconds of load: what was to be posted by then
        and is not yet joined, or joined but its matches not stored.
    cores
        CPU by process.
    """

    rate: float
    backlogs_s: tuple[float, float]
    cores: dict[str, float]

    @property
    def is_sustained(self) -> bool:
        return self.backlogs_s[1] - self.backlogs_s[0] <= GROWTH_S


class Progress:
    """What the line says that it has done, from its own metrics."""

    def __init__(self, system: System) -> None:
        self._fusion = f"{system.layout.url('fusion')}/metrics"
        self._alerting = f"{system.layout.url('alerting')}/metrics"

    def joined(self) -> float:
        """Return how many detections fusion has processed."""
        return _metric(self._fusion, "coincide_fusion_detections_total")

    def found(self) -> float:
        """Return how many matches fusion has written."""
        return _metric(self._fusion, "coincide_fusion_matches_total")

    def stored(self) -> float:
        """Return how many matches alerting has stored."""
        return _metric(self._alerting, "coincide_alerting_matches_total")


def _metric(url: str, name: str) -> float:
    text = httpx.get(url, timeout=10).text
    return sum(float(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE))


def try_step(system: System, load: Load, rate: float, seconds: float) -> Step:
    """Offer one rate for ``seconds`` and watch the backlog; return when all has come through."""
    progress = Progress(system)
    used, start_s = whole_line.cpu_by_process(system), time.monotonic()
    offering = threading.Thread(target=load.run, args=(rate, seconds), daemon=True)
    offering.start()
    backlogs_s: list[float] = []
    while offering.is_alive():
        backlogs_s.append(_backlog_s(load, progress, rate))
        offering.join(timeout=0.25)
    took_s, now = time.monotonic() - start_s, whole_line.cpu_by_process(system)
    load.drain()
    if not wait_until(lambda: progress.joined() >= load.offered and progress.stored() >= progress.found(), 180):
        raise SystemExit(f"of {load.offered} detections {progress.joined():.0f} came through within 180 s")
    quarter = len(backlogs_s) // 4
    means = mean(backlogs_s[quarter : 2 * quarter]), mean(backlogs_s[-quarter:])
    return Step(rate, means, {name: (now[name] - used[name]) / took_s for name in now})


def _backlog_s(load: Load, progress: Progress, rate: float) -> float:
    waiting = load.offered - progress.joined()
    unstored = (progress.found() - progress.stored()) * whole_line.DETECTIONS_PER_MATCH
    return (waiting + max(0.0, unstored)) / rate


def report(steps: list[Step]) -> str:
    sustained = max((step.rate for step in steps if step.is_sustained), default=0)
    names = list(steps[0].cores)
    rows = [
        f"| offered/s | sustained | backlog s: 2nd and last quarter | {' | '.join(f'{n} cores' for n in names)} |",
        "|---" * (3 + len(names)) + "|",
    ]
    for step in steps:
        cores = " | ".join(f"{step.cores[name]:.2f}" for name in names)
        backlog = f"{step.backlogs_s[0]:.2f}, {step.backlogs_s[1]:.2f}"
        answer = "yes" if step.is_sustained else "no"
        rows.append(f"| {step.rate:,.0f} | {answer} | {backlog} | {cores} |")
    title = (
        f"## Throughput of the whole line: POSTs of {DETECTIONS_PER_POST}, {whole_line.AREAS} areas, one query over "
        f"two streams, D = {MAX_DELAY_S:g} s\n\nLargest sustained rate: {sustained:,.0f} detections/s, "
        f"{sustained / WANTED_PER_S:.2f} of the {WANTED_PER_S:,} wanted.\n"
    )
    return "\n".join([title, *rows, f"\n{whole_line.machine()}"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0, help="of each step (default: %(default)s)")
    parser.add_argument("--steps", type=float, nargs="+", default=STEPS_PER_S, help="rates to try")
    given = parser.parse_args()
    steps: list[Step] = []
    with whole_line.running(MAX_DELAY_S) as system:
        load = Load(system.layout.ports.ingest)
        load.run(2_000, 10)  # warm up
        load.drain()
        for rate in given.steps:
            steps.append(try_step(system, load, rate, given.seconds))
            if not steps[-1].is_sustained:
                break
        load.stop()
    print(report(steps))


if __name__ == "__main__":
    main()
