"""The window join paper's figures in counts: throughput and waits, response time, and the conservative approaches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.window_join_costs import (
    ANY_GRAPH,
    ARRIVALS,
    HASHED,
    UNIFORM,
    USUAL,
    WIDE,
    WIDTHS_S,
    operations,
    response_s,
    responses,
    sweeps,
    works,
)
from docs.pictures import Numbers, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = {  # color, line and marker
    "bew-nested-loop": ("#1f77b4", "o-"),
    "few-nested-loop": ("#d62728", "o-"),
    "bew-hash": ("#1f77b4", "s--"),
    "few-hash": ("#d62728", "s--"),
    "gca-bew": ("#1f77b4", "^-"),
    "gca-few": ("#d62728", "^-"),
    "lca-bew": ("#1f77b4", "v--"),
    "lca-few": ("#d62728", "v--"),
    "bew-direct": ("black", "D-"),
}
AXES = {"rate_hz": "tuples a second of each stream", "streams": "streams", "window_s": "window, seconds either way"}


def draw_costs() -> Figure:
    """Draw tuples for 1,000 operations, and FEW's waits, against rate, number of streams and window."""
    drawn: Figure
    drawn, axes = figure(9.5, 5.4, 2, 3)
    for column, (varied, settings) in zip(axes.T, sweeps().items(), strict=True):
        xs = [getattr(setting, varied) for setting in settings]
        found = [works(setting, UNIFORM) for setting in settings]
        for name in UNIFORM:
            of_each = [operations(setting, work[name]) for setting, work in zip(settings, found, strict=True)]
            _plot(column[0], name, xs, [1000 / each for each in of_each])
        few = [work["few-hash"] for work in found]
        column[1].plot(xs, [work.longest_wait_us / 1e6 for work in few], "o-", color="#d62728", label="longest")
        column[1].plot(xs, [work.waited_us / 1e6 / ARRIVALS for work in few], "o:", color="#d62728", label="mean")
        column[1].set(xlabel=AXES[varied], ylim=(0.01, 20))
        for ax in column:
            _log_scale(ax, xs, doubling=varied != "streams")
    axes[0, 0].set_ylabel("tuples for 1,000 operations")
    axes[1, 0].set_ylabel("FEW's waits, seconds\n(BEW: none)")
    axes[1, 0].legend()
    handles, names = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, names, loc="outside upper center", ncols=4)
    return drawn


def draw_response() -> Figure:
    """Draw response time against rate, and what a graph costs in which one window is wide."""
    drawn: Figure
    drawn, axes = figure(9.5, 3.8, 1, 2)
    settings, of_each = responses()
    for name, times_s in of_each.items():
        _plot(axes[0], name, [setting.rate_hz for setting in settings], [time_s * 1000 for time_s in times_s])
    axes[0].set(xscale="log", yscale="log", xlabel=AXES["rate_hz"], ylabel="response time, ms", xlim=(0.8, 200))
    last_hz = settings[int(np.isfinite(of_each["bew-hash"]).sum()) - 1].rate_hz
    axes[0].axvline(last_hz, color="0.6", linewidth=0.8, linestyle=":")
    axes[0].text(last_hz * 0.93, 300, "BEW keeps up\nno longer", ha="right")
    found = [works(replace(WIDE, wide_s=wide_s), ANY_GRAPH) for wide_s in WIDTHS_S]
    for name in ANY_GRAPH:
        _plot(axes[1], name, list(WIDTHS_S), [operations(WIDE, work[name]) for work in found])
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
        name: (work.touched, work.windows_tested, work.predicates, work.longest_wait_us)
        for name, work in works(USUAL, UNIFORM).items()
    }


def response_numbers() -> Numbers:
    """Return response times at the usual rate, and the operations at two widths of the wide window."""
    times_s = {name: (response_s(USUAL, work),) for name, work in works(USUAL, HASHED).items()}
    found = [works(replace(WIDE, wide_s=wide_s), ANY_GRAPH) for wide_s in (1.0, 2.0)]
    return {**times_s, **{name: [work[name].operations for work in found] for name in ANY_GRAPH}}


def _plot(ax: Axes, name: str, xs: list[float], ys: list[float]) -> None:
    color, line = LINES[name]
    ax.plot(xs, ys, line, color=color, markersize=4.5, markerfacecolor="none", label=name)


def _log_scale(ax: Axes, xs: list[float], *, doubling: bool) -> None:
    from matplotlib.ticker import NullLocator  # noqa: PLC0415 - for who draws, not for the numbers

    if doubling:
        ax.set_xscale("log", base=2)
    ax.set_xticks(xs, [f"{x:g}" for x in xs])
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_locator(NullLocator())
