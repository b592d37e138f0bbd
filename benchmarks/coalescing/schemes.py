"""Eager and lazy coalescing timed against how much coalesces and how much is late, beside the cost model.

Readings of one group are pushed in batches into extents of 10,000. A share *cp* repeats the value before it; a share
*oop* arrives up to half an extent late. The model is that of `coalescing_costs`, with this machine's own unit costs
(`coalescing_unit_costs`) in the place of the paper's. `--picture FILE.svg` draws the curves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import EagerCoalescing, LazyCoalescing, WindowExtent
from coincide.arrays.kinds import Int64Array
from coincide.coalescing import UnitCosts, measure_costs
from coincide.coalescing.costs.model import eager_scan, eager_update, lazy_scan, lazy_update
from docs.pictures import Numbers, figure, numbers_in, save
from docs.pictures.style import BLUE, GREEN, RED

W, K, BATCH, ROUNDS = 10_000, 30_000, 1_000, 3
CPS, OOPS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0), (0.0, 0.1, 0.3, 0.5, 1.0)
SHOWN_CPS, SHOWN_OOPS = (0.1, 0.5, 0.9), (0.0, 0.1, 0.5)
DIGITS = {"eager update": 2, "lazy update": 2, "eager scan": 3, "lazy scan": 3}
COLORS = (BLUE, GREEN, RED)

Coalescing = EagerCoalescing | LazyCoalescing
Point = tuple[float, float, float]  # where it is drawn, cp, oop


class Cost(NamedTuple):
    """Microseconds: an update a reading, a scan a tuple of the extent."""

    update_us: float
    scan_us: float


def arriving(cp: float, oop: float) -> tuple[Int64Array, Int64Array]:
    """Return times and values of readings in the order of their arrival."""
    rng = np.random.default_rng(6)
    value = (rng.random(K) >= cp).cumsum(dtype=np.int64)
    delay = np.where(rng.random(K) < oop, rng.integers(1, W // 2, K), 0)
    order = np.argsort(np.arange(K) + delay, kind="stable")
    return order, value[order]


def timed(kind: type[Coalescing], cp: float, oop: float, rounds: int) -> Cost:
    """Push the readings, and scan at the end: the shortest of some rounds."""
    ts, value = arriving(cp, oop)
    taken = []
    for _ in range(rounds):
        extent, begun = kind(WindowExtent(size=W)), time.process_time()
        for at in range(0, K, BATCH):
            extent.push(ts[at : at + BATCH], value=value[at : at + BATCH])
        pushed = time.process_time()
        extent.scan()
        taken.append(Cost((pushed - begun) / K * 1e6, (time.process_time() - pushed) / W * 1e6))
    return Cost(*(min(column) for column in zip(*taken, strict=True)))


def modelled(costs: UnitCosts, cp: float, oop: float) -> tuple[Cost, Cost]:
    """Return what the model expects, eagerly and lazily."""
    cps, oops = np.full(K, cp), np.full(K, oop)
    eager = Cost(float(eager_update(costs, cps, oops, W)[-1]) / K, float(eager_scan(costs, cps, W)[-1]) / W)
    return eager, Cost(float(lazy_update(costs, K, W)[-1]) / K, float(lazy_scan(costs, cps, W)[-1]) / W)


def measured(rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return costs at all cps, oop after oop: by scheme, timed or by the model, of updates or of scans."""
    costs, numbers = measure_costs(time.process_time, W), dict[str, list[float]]()
    for oop in OOPS:
        for cp in CPS:
            timed_costs = (timed(kind, cp, oop, rounds) for kind in (EagerCoalescing, LazyCoalescing))
            for how, (eager, lazy) in {"timed": timed_costs, "model": modelled(costs, cp, oop)}.items():
                for scheme, cost in {"eager": eager, "lazy": lazy}.items():
                    for what, cost_us in zip(("update", "scan"), cost, strict=True):
                        numbers.setdefault(f"{scheme} {what}, {how}", []).append(cost_us)
    return numbers


def at(numbers: Mapping[str, Sequence[float]], name: str, cp: float, oop: float) -> float:
    return numbers[name][OOPS.index(oop) * len(CPS) + CPS.index(cp)]


def rows(numbers: Mapping[str, Sequence[float]]) -> list[str]:
    """Return rows of a table: timed, and by the model in brackets."""
    found = []
    for oop in SHOWN_OOPS:
        for cp in SHOWN_CPS:
            cells = [_both(numbers, name, cp, oop, digits) for name, digits in DIGITS.items()]
            found.append(f"| {cp:g} | {oop:g} | {' | '.join(cells)} |")
    return found


def _both(numbers: Mapping[str, Sequence[float]], name: str, cp: float, oop: float, digits: int) -> str:
    timed_us, modelled_us = (at(numbers, f"{name}, {how}", cp, oop) for how in ("timed", "model"))
    return f"{timed_us:.{digits}f} ({modelled_us:.{digits}f})"


def draw(numbers: Numbers, path: Path) -> None:
    """Draw updates against both shares, and scans: timed as lines, the model as dashes."""
    kept = {name: list(values) for name, values in numbers.items()}
    fig, (of_cp, of_oop, scans) = figure(9.6, 3.0, 1, 3)

    for color, oop in zip(COLORS, SHOWN_OOPS, strict=True):
        _lines(of_cp, kept, "eager update", [(cp, cp, oop) for cp in CPS], color, f"eager, {oop:g} late")
    for color, cp in zip(COLORS, SHOWN_CPS, strict=True):
        _lines(of_oop, kept, "eager update", [(oop, cp, oop) for oop in OOPS], color, f"eager, {cp:g} coalesce")
    _lines(of_cp, kept, "lazy update", [(cp, cp, 0.0) for cp in CPS], "k", "lazy, none late")
    _lines(of_oop, kept, "lazy update", [(oop, 0.5, oop) for oop in OOPS], "k", "lazy, 0.5 coalesce")
    for color, scheme in ((COLORS[0], "eager"), ("k", "lazy")):
        _lines(scans, kept, f"{scheme} scan", [(cp, cp, 0.0) for cp in CPS], color, scheme)
    of_cp.set(xlabel="coalescing, cp", ylabel="µs an update", xlim=(0, 1.02), ylim=(0, None))
    of_oop.set(xlabel="out of order, oop", ylabel="µs an update", xlim=(-0.02, 1.02), ylim=(0, None))
    scans.set(xlabel="coalescing, cp", ylabel="µs a scan, for each tuple", xlim=(0, 1.02), ylim=(0, None))
    for ax in (of_cp, of_oop, scans):
        ax.legend(fontsize=7)
    save(fig, path, kept)


def _lines(
    ax: Any, kept: Mapping[str, Sequence[float]], name: str, points: Sequence[Point], color: str, label: str
) -> None:
    xs = [x for x, _, _ in points]
    for how, style in (("timed", "o-"), ("model", "--")):
        costs_us = [at(kept, f"{name}, {how}", cp, oop) for _, cp, oop in points]
        ax.plot(xs, costs_us, style, color=color, markersize=3, linewidth=1, label=label if how == "timed" else None)


def tables(options: Options) -> Iterator[Table]:
    numbers = numbers_in(options.picture) if options.again and options.picture else measured(options.rounds_of(ROUNDS))
    headings = ("cp", "oop", "eager update µs", "lazy update µs", "eager scan µs a tuple", "lazy scan µs a tuple")
    yield Table(headings, rows(numbers))
    if options.picture:
        draw(numbers, options.picture)


BENCHMARKS = [Benchmark("coalescing_schemes", "eager and lazy coalescing timed, and by the cost model", [tables])]
