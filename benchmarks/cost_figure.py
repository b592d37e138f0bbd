"""The cost of all algorithms in counts: against window, threshold and number of buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.paper_costs import BUCKETS, EVENTS, WINDOWS_S, Setting, costs, sweeps
from coincide.papers.timing_replay import Work
from docs.pictures import Numbers, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = {  # color, line and marker, size of the marker
    "simple": ("#1f77b4", "o-", 8),
    "simple-sort": ("#17becf", "s-", 4),
    "eager": ("#2ca02c", "o-", 8),
    "lazy": ("#9467bd", "^-", 5),
    "lazy-lookup": ("#8c564b", "v-", 5),
    "histogram-simple": ("#d62728", "o--", 5),
    "histogram-eager": ("#ff7f0e", "o--", 5),
    "ptjoin": ("black", "D--", 4),
}
AXES = {"window_s": "window d, seconds", "threshold": "threshold", "buckets": "buckets of each template"}
ROWS = {"events scanned": (3, 80), "probabilities evaluated": (0.3, 80), "look-ups": (0.05, 5)}


def draw_cost() -> Figure:
    """Draw events scanned, probabilities evaluated and look-ups, for each event that arrives."""
    drawn: Figure
    drawn, axes = figure(9.5, 8, 3, 3)
    for column, (varied, settings) in zip(axes.T, sweeps().items(), strict=True):
        _draw_column(column, varied, settings)
        column[-1].set_xlabel(AXES[varied])
    for row, (title, limits) in zip(axes, ROWS.items(), strict=True):
        row[0].set_ylabel(f"{title}\nper arrival")
        for ax in row:
            _log_scale(ax, limits)
    axes[1, 2].set_ylabel("intervals of adjusted histograms\nsummed per arrival")
    _log_scale(axes[1, 2], (3, 2000))
    for ax in axes[1]:
        ax.text(0.98, 0.03, "ptjoin: none", transform=ax.transAxes, ha="right")
    for ax in axes[:, 2]:
        ax.set_xscale("log", base=2)
        ax.set_xticks(BUCKETS, [str(buckets) for buckets in BUCKETS])
    for ax in axes[:, 0]:
        ax.set_xticks(WINDOWS_S)
    handles, names = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, names, loc="outside upper center", ncols=4)
    return drawn


def numbers() -> Numbers:
    """Return the counts in the one setting that all three series share."""
    works = {name: work for name, [work] in costs([Setting()]).items() if work is not None}
    return {name: (work.scanned, work.probabilities, work.lookups) for name, work in works.items()}


def _draw_column(column: list[Axes], varied: str, settings: list[Setting]) -> None:
    for name, works in costs(settings).items():
        color, line, size = LINES[name]
        held = [(setting, work) for setting, work in zip(settings, works, strict=True) if work is not None]
        xs = [getattr(setting, varied) for setting, _ in held]
        counts = [_counts(setting, work, in_intervals=varied == "buckets") for setting, work in held]
        for ax, ys in zip(column, zip(*counts, strict=True), strict=True):
            if any(ys):
                ax.plot(xs, ys, line, color=color, markersize=size, markerfacecolor="none", label=name)


def _log_scale(ax: Axes, limits: tuple[float, float]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator  # noqa: PLC0415 - for who draws, not for the numbers

    ax.set_yscale("log")
    ax.set_ylim(*limits)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_locator(NullLocator())


def _counts(setting: Setting, work: Work, *, in_intervals: bool) -> tuple[float, float, float]:
    # two templates of k buckets have 2 k + 2 time points, and 2 k + 1 intervals between them
    each = 2 * setting.buckets + 1 if in_intervals else 1
    arrived = 2 * EVENTS
    return work.scanned / arrived, work.probabilities * each / arrived, work.lookups / arrived
