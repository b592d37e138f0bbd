"""What each algorithm of the timing join papers does for the same answer, in counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Detections, Histogram, Window
from coincide.papers.algorithms import TIMING_JOINS, PaperAlgorithm
from coincide.papers.counted_answer import Work
from coincide.papers.recording import Recording
from docs.pictures import Numbers, figure
from docs.pictures.style import BLUE, BROWN, CYAN, GREEN, ORANGE, PURPLE, RED

EVENTS = 100  # a side, one a second on average
TEMPLATES = 8  # a side
WINDOWS_S = (4.0, 6.0, 8.0, 12.0, 16.0)  # the longest templates of both sides together are 8 s long
THRESHOLDS = (0.05, 0.2, 0.5, 0.8, 0.95)
BUCKETS = (1, 2, 4, 8, 16)

LINES = {  # color, line and marker, size of the marker
    "simple": (BLUE, "o-", 8),
    "simple-sort": (CYAN, "s-", 4),
    "eager": (GREEN, "o-", 8),
    "lazy": (PURPLE, "^-", 5),
    "lazy-lookup": (BROWN, "v-", 5),
    "histogram-simple": (RED, "o--", 5),
    "histogram-eager": (ORANGE, "o--", 5),
    "ptjoin": ("black", "D--", 4),
}
AXES = {"window_s": "window d, seconds", "threshold": "threshold", "buckets": "buckets of each template"}
DRAWN = {"events scanned": (3, 80), "probabilities evaluated": (0.3, 80), "look-ups": (0.05, 5)}


@dataclass(frozen=True)
class Setting:
    """What is joined: streams whose templates have so many buckets, a window and a threshold."""

    window_s: float = 8.0
    threshold: float = 0.8
    buckets: int = 1

    def arrivals(self) -> Recording:
        """Return two streams that arrive up to a second late; templates are 1 to 4 s long."""
        random, of_mass = np.random.default_rng(1987), np.random.default_rng(self.buckets)
        a, b = (_stream(random, _templates(of_mass, self.buckets)) for _ in range(2))
        reported_us = np.concatenate((a.detected_at_us, b.detected_at_us))
        return Recording({"a": a, "b": b}, np.argsort(reported_us + random.integers(0, 1_000_000, 2 * EVENTS)))


def sweeps(usual: Setting = Setting()) -> dict[str, list[Setting]]:
    """Return the settings of each series: one thing varies, the rest is as usual."""
    return {
        "window_s": [replace(usual, window_s=window_s) for window_s in WINDOWS_S],
        "threshold": [replace(usual, threshold=threshold) for threshold in THRESHOLDS],
        "buckets": [replace(usual, buckets=buckets) for buckets in BUCKETS],
    }


def costs(settings: list[Setting]) -> dict[str, list[Work | None]]:
    """Return the work of each algorithm in each setting; None where its assumptions do not hold."""
    arrivals = [setting.arrivals() for setting in settings]
    return {
        algorithm.name: [_work(algorithm, each, setting) for each, setting in zip(arrivals, settings, strict=True)]
        for algorithm in TIMING_JOINS
    }


def _stream(random: np.random.Generator, templates: list[Histogram]) -> Detections:
    times_us = np.sort(random.integers(0, EVENTS * 1_000_000, EVENTS))
    return Detections(times_us, templates, random.integers(0, TEMPLATES, EVENTS))


def _templates(random: np.random.Generator, buckets: int) -> list[Histogram]:
    lengths_s = np.linspace(1.0, 4.0, TEMPLATES).tolist()
    masses = random.dirichlet(np.full(buckets, 4.0), TEMPLATES)
    ends = np.linspace(-1.0, 0.0, buckets + 1)
    return [Histogram(length_s * ends, mass) for length_s, mass in zip(lengths_s, masses, strict=True)]


def _work(algorithm: PaperAlgorithm, arrivals: Recording, setting: Setting) -> Work | None:
    if algorithm.uniform_templates_only and setting.buckets > 1:
        return None
    return algorithm.run(arrivals, Window(setting.window_s), setting.threshold).work


def draw_cost() -> Any:
    """Draw events scanned, probabilities evaluated and look-ups, for each event that arrives."""
    drawn, axes = figure(9.5, 8, 3, 3)
    for column, (varied, settings) in zip(axes.T, sweeps().items(), strict=True):
        _draw_column(column, varied, settings)
        column[-1].set_xlabel(AXES[varied])
    for row, (title, limits) in zip(axes, DRAWN.items(), strict=True):
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


def _draw_column(column: Any, varied: str, settings: list[Setting]) -> None:
    for name, works in costs(settings).items():
        color, line, size = LINES[name]
        counted = [(setting, work) for setting, work in zip(settings, works, strict=True) if work is not None]
        xs = [getattr(setting, varied) for setting, _ in counted]
        counts = [_counts(setting, work, in_intervals=varied == "buckets") for setting, work in counted]
        for ax, ys in zip(column, zip(*counts, strict=True), strict=True):
            if any(ys):
                ax.plot(xs, ys, line, color=color, markersize=size, markerfacecolor="none", label=name)


def _log_scale(ax: Any, limits: tuple[float, float]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator  # noqa: PLC0415 - for who draws, not for the numbers

    ax.set_yscale("log")
    ax.set_ylim(*limits)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_locator(NullLocator())


def _counts(setting: Setting, work: Work, *, in_intervals: bool) -> tuple[float, float, float]:
    # two templates of k buckets have 2 k + 2 time points, and 2 k + 1 intervals between them
    each = 2 * setting.buckets + 1 if in_intervals else 1
    arrivals = 2 * EVENTS
    return work.scanned / arrivals, work.probabilities * each / arrivals, work.lookups / arrivals


def tables(options: Options) -> Iterator[Table]:
    rows = []
    for varied, settings in list(sweeps().items())[: 1 if options.quick else None]:
        for algorithm, works in costs(settings[:1] if options.quick else settings).items():
            for setting, work in zip(settings, works, strict=not options.quick):
                if work is not None:
                    each = [f"{n / (2 * EVENTS):.1f}" for n in (work.scanned, work.probabilities, work.lookups)]
                    rows.append([varied, getattr(setting, varied), algorithm, *each, work.buffered])
    yield Table(("varied", "value", "algorithm", "scanned", "evaluated", "looked up", "buffered"), rows)


BENCHMARKS = [Benchmark("paper_costs", "the timing join papers' algorithms, in counts for each event", [tables])]
