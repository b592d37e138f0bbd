"""What each algorithm of the window join paper does for the same answer, in counts; and how long its tuples wait.

Counted are, for each tuple that arrives, the tuples touched, windows tested and keys compared, and the mean and the
longest wait in the recording's own time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import ConstraintGraph, Detections, Histogram, Window
from coincide.papers.algorithms import WINDOW_JOINS
from coincide.papers.counted_answer import Work
from coincide.papers.recording import Recording
from docs.pictures import Numbers, figure
from docs.pictures.style import BLUE, RED

LABELS = 10  # values of the key, as often one as the other
ARRIVALS = 1_200
UNIFORM = ("bew-nested-loop", "few-nested-loop", "bew-hash", "few-hash")
HASHED = ("bew-hash", "few-hash")
ANY_GRAPH = ("gca-bew", "gca-few", "lca-bew", "lca-few", "bew-direct")
RUN = {algorithm.name: algorithm.run for algorithm in WINDOW_JOINS}
OPERATIONS_PER_S = 100_000  # of the machine that the response time is reckoned for


@dataclass(frozen=True)
class Setting:
    """Streams of `rate_hz` each that arrive in order of time; windows of `window_s` either way, one pair's `wide_s`."""

    rate_hz: float = 16.0
    streams: int = 3
    window_s: float = 1.0
    wide_s: float | None = None
    arrivals: int = ARRIVALS

    @property
    def graph(self) -> ConstraintGraph:
        """A uniform clique, or one in which the last two streams have a window of their own."""
        names = "abcdef"[: self.streams]
        if self.wide_s is None:
            return ConstraintGraph.clique(names, Window(self.window_s))
        windows = {pair: Window(self.window_s) for pair in combinations(names, 2)}
        return ConstraintGraph.clique(names, {**windows, (names[-2], names[-1]): Window(self.wide_s)})

    def recorded(self) -> Recording:
        """Return as many tuples of each stream, at times at random."""
        random, each = np.random.default_rng(2003), self.arrivals // self.streams
        names = self.graph.roles
        times_us = [np.sort(random.integers(0, round(each / self.rate_hz * 1e6), each)) for _ in names]
        key = {name: random.integers(0, LABELS, each) for name in names}
        exact = [Histogram.point()]
        return Recording(
            {name: Detections(column, exact) for name, column in zip(names, times_us, strict=True)}, key=key
        )


LINES = {  # color, line and marker
    "bew-nested-loop": (BLUE, "o-"),
    "few-nested-loop": (RED, "o-"),
    "bew-hash": (BLUE, "s--"),
    "few-hash": (RED, "s--"),
    "gca-bew": (BLUE, "^-"),
    "gca-few": (RED, "^-"),
    "lca-bew": (BLUE, "v--"),
    "lca-few": (RED, "v--"),
    "bew-direct": ("black", "D-"),
}
AXES = {"rate_hz": "tuples a second of each stream", "streams": "streams", "window_s": "window, seconds either way"}

USUAL = Setting()
WIDE = Setting(rate_hz=6.0, streams=4, wide_s=1.0)
WIDTHS_S = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
RATES_HZ = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 64.0, *(float(rate_hz) for rate_hz in range(72, 145, 8)))


def sweeps(usual: Setting = USUAL) -> dict[str, list[Setting]]:
    """Return the settings of each series: one thing varies, the rest is as usual."""
    return {
        "rate_hz": [replace(usual, rate_hz=rate_hz) for rate_hz in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)],
        "streams": [replace(usual, streams=streams) for streams in (2, 3, 4, 5)],
        "window_s": [replace(usual, window_s=window_s) for window_s in (0.125, 0.25, 0.5, 1.0, 2.0)],
    }


def works(setting: Setting, names: Iterable[str]) -> dict[str, Work]:
    arrivals, graph = setting.recorded(), setting.graph
    return {name: RUN[name](arrivals, graph).work for name in names}


def operations(setting: Setting, work: Work) -> float:
    return work.operations / setting.arrivals


def response_s(setting: Setting, work: Work) -> float:
    """Return the mean response time of a machine of OPERATIONS_PER_S; infinite when it cannot keep up.

    A tuple waits for others (counted), queues (M/D/1: arrivals at random, all of them the mean work), and is worked on.
    """
    service_s = operations(setting, work) / OPERATIONS_PER_S
    load = service_s * setting.rate_hz * setting.streams
    queued_s = service_s * load / (2 * (1 - load)) if load < 1 else np.inf
    return work.waited_us / 1e6 / setting.arrivals + queued_s + service_s


def responses() -> tuple[list[Setting], dict[str, list[float]]]:
    """Return response times of the hash algorithms, in seconds, against the rate."""
    settings = [Setting(rate_hz=rate_hz, arrivals=3_000) for rate_hz in RATES_HZ]
    counted = [works(setting, HASHED) for setting in settings]
    pairs = list(zip(settings, counted, strict=True))
    return settings, {name: [response_s(setting, work[name]) for setting, work in pairs] for name in HASHED}


def draw_costs() -> Any:
    """Draw tuples for 1,000 operations, and FEW's waits, against rate, number of streams and window."""
    drawn, axes = figure(9.5, 5.4, 2, 3)
    for column, (varied, settings) in zip(axes.T, sweeps().items(), strict=True):
        xs = [getattr(setting, varied) for setting in settings]
        counted = [works(setting, UNIFORM) for setting in settings]
        for name in UNIFORM:
            of_each = [operations(setting, work[name]) for setting, work in zip(settings, counted, strict=True)]
            _plot(column[0], name, xs, [1000 / each for each in of_each])
        few = [work["few-hash"] for work in counted]
        column[1].plot(xs, [work.longest_wait_us / 1e6 for work in few], "o-", color=RED, label="longest")
        column[1].plot(xs, [work.waited_us / 1e6 / ARRIVALS for work in few], "o:", color=RED, label="mean")
        column[1].set(xlabel=AXES[varied], ylim=(0.01, 20))
        for ax in column:
            _log_scale(ax, xs, doubling=varied != "streams")
    axes[0, 0].set_ylabel("tuples for 1,000 operations")
    axes[1, 0].set_ylabel("FEW's waits, seconds\n(BEW: none)")
    axes[1, 0].legend()
    handles, names = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, names, loc="outside upper center", ncols=4)
    return drawn


def draw_response() -> Any:
    """Draw response time against rate, and what a graph costs in which one window is wide."""
    drawn, axes = figure(9.5, 3.8, 1, 2)
    settings, of_each = responses()
    for name, times_s in of_each.items():
        _plot(axes[0], name, [setting.rate_hz for setting in settings], [time_s * 1000 for time_s in times_s])
    axes[0].set(xscale="log", yscale="log", xlabel=AXES["rate_hz"], ylabel="response time, ms", xlim=(0.8, 200))
    last_hz = settings[int(np.isfinite(of_each["bew-hash"]).sum()) - 1].rate_hz
    axes[0].axvline(last_hz, color="0.6", linewidth=0.8, linestyle=":")
    axes[0].text(last_hz * 0.93, 300, "BEW keeps up\nno longer", ha="right")
    counted = [works(replace(WIDE, wide_s=wide_s), ANY_GRAPH) for wide_s in WIDTHS_S]
    for name in ANY_GRAPH:
        _plot(axes[1], name, list(WIDTHS_S), [operations(WIDE, work[name]) for work in counted])
    axes[1].set(yscale="log", xlabel="window of one pair of four streams, seconds; 1 s for the others")
    axes[1].set_ylabel("operations for each tuple")
    for ax in axes:
        ax.xaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.legend()
    return drawn


def costs_numbers() -> Numbers:
    """Return the counts in the one setting that all three series share."""
    return {
        name: (work.scanned, work.windows_tested, work.predicates, work.longest_wait_us)
        for name, work in works(USUAL, UNIFORM).items()
    }


def response_numbers() -> Numbers:
    """Return response times at the usual rate, and the operations at two widths of the wide window."""
    times_s = {name: (response_s(USUAL, work),) for name, work in works(USUAL, HASHED).items()}
    counted = [works(replace(WIDE, wide_s=wide_s), ANY_GRAPH) for wide_s in (1.0, 2.0)]
    return {**times_s, **{name: [work[name].operations for work in counted] for name in ANY_GRAPH}}


def _plot(ax: Any, name: str, xs: list[float], ys: list[float]) -> None:
    color, line = LINES[name]
    ax.plot(xs, ys, line, color=color, markersize=4.5, markerfacecolor="none", label=name)


def _log_scale(ax: Any, xs: list[float], *, doubling: bool) -> None:
    from matplotlib.ticker import NullLocator  # noqa: PLC0415 - for who draws, not for the numbers

    if doubling:
        ax.set_xscale("log", base=2)
    ax.set_xticks(xs, [f"{x:g}" for x in xs])
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_locator(NullLocator())


def tables(options: Options) -> Iterator[Table]:
    series: list[tuple[str, Setting, tuple[str, ...]]] = [
        (varied, setting, UNIFORM) for varied, settings in sweeps().items() for setting in settings
    ]
    series += [("wide_s", replace(WIDE, wide_s=width_s), ANY_GRAPH) for width_s in WIDTHS_S]
    rows = []
    for varied, setting, names in series[:1] if options.quick else series:
        for name, work in works(setting, names).items():
            each = [f"{n / setting.arrivals:.2f}" for n in (work.scanned, work.windows_tested, work.predicates)]
            waits_s = [f"{work.waited_us / 1e6 / setting.arrivals:.3f}", f"{work.longest_wait_us / 1e6:.2f}"]
            rows.append([varied, getattr(setting, varied), name, *each, *waits_s])
    counts = ("touched", "windows tested", "keys compared", "mean wait s", "longest wait s")
    yield Table(("varied", "value", "algorithm", *counts), rows, "Counts for each tuple that arrives:")
    if not options.quick:
        settings, of_each = responses()
        times_ms = [[f"{s * 1000:.2f}" for s in times] for times in zip(*of_each.values(), strict=True)]
        title = f"Response time in ms of a machine of {OPERATIONS_PER_S:,} operations/s:"
        rows = [[setting.rate_hz, *ms] for setting, ms in zip(settings, times_ms, strict=True)]
        yield Table(("tuples a second of each stream", *HASHED), rows, title)


BENCHMARKS = [Benchmark("window_join_costs", "the window join paper's algorithms, in counts for each tuple", [tables])]
