"""The pictures of docs/explanation/coalescing.md, from the library itself.

`PICTURES` names each file, what draws it and which numbers it is known by. Times are whole microseconds to the library
and stand for minutes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from coincide import (
    Bounded,
    Decreasing,
    EagerCoalescing,
    Equal,
    Increasing,
    Quantised,
    Runs,
    WindowExtent,
    coalesce,
    validity,
)
from coincide.coalescing import CoalescedRun, Equivalence, Predicate
from coincide.temporal import ALLEN, Intervals, overlaps_tsql2, relation
from docs.pictures.style import BLUE, EXPLANATION, ORANGE, RED, Numbers, Pictures, figure

FOLDER = EXPLANATION / "coalescing"
WARM, COOL, LATE = ORANGE, BLUE, RED

# One station, from five to half past: what is above 100 degrees, and a break in the readings.
AT = [5, 10, 15, 20, 35, 40, 45]
CELSIUS = [101, 103, 97, 102, 104, 104, 99]
HOLD, LIMIT = 8, 100
ALL = WindowExtent(size=100)


@dataclass(frozen=True)
class Update:
    """Readings that were there, one that comes late, and how long each holds."""

    name: str
    at: Sequence[int]
    celsius: Sequence[int]
    late: tuple[int, int]
    hold: int | None = None
    extent: WindowExtent = ALL

    def runs(self) -> tuple[Runs, Runs]:
        """Return the runs before and after."""
        eager = EagerCoalescing(self.extent, hold_us=self.hold)
        eager.push(self.at, value=self.celsius)
        before = eager.scan()
        eager.push([self.late[0]], value=[self.late[1]])
        return before, eager.scan()


UPDATES = (
    Update("merge", [0, 10, 30, 40, 50], [81, 81, 81, 81, 79], (20, 81), hold=15),
    Update("split", [0, 10, 30, 40, 50], [81, 81, 81, 81, 79], (20, 79)),
    Update("a boundary moves", [0, 10, 30, 40, 50], [81, 81, 79, 79, 79], (20, 79)),
    Update("too late", [0, 10, 30, 40, 50], [81, 81, 81, 79, 79], (5, 79), extent=WindowExtent(duration_us=40)),
)


def draw_updates() -> Any:
    """Draw what a late reading does to the runs before it and after it."""
    fig, axes = figure(9.6, 4.4, 2, 2)
    for ax, update in zip(axes.ravel(), UPDATES, strict=True):
        before, after = update.runs()
        _draw_readings(ax, update)
        for top, runs, other, line in ((1.0, before, after, ":"), (0.3, after, before, "-")):
            kept = set(other)
            for run in runs:
                _draw_run(ax, run, top, line="-" if run in kept else line, changed=run not in kept)
        title = update.name if update.hold is None else f"{update.name} (readings hold {update.hold} minutes)"
        ax.set(title=title, xlim=(-11, 57), ylim=(0.05, 2.15), yticks=[], xticks=range(0, 51, 10), xlabel="minutes")
        for y, name in ((1.6, "readings"), (1.1, "runs before"), (0.4, "after")):
            ax.text(-3, y, name, ha="right", va="center", fontsize=8)
        ax.spines["left"].set_visible(False)
    return fig


def _draw_readings(ax: Any, update: Update) -> None:
    for at, celsius in zip(update.at, update.celsius, strict=True):
        ax.plot(at, 1.6, "o", color=_colour(celsius), markersize=5)
        ax.text(at, 1.7, str(celsius), ha="center", va="bottom", fontsize=8)
    at, celsius = update.late
    ax.plot(at, 1.6, "o", color=_colour(celsius), markersize=5)
    ax.plot(at, 1.6, "o", color=LATE, markersize=10, markerfacecolor="none")
    ax.text(at, 1.72, f"{celsius}\nlate", ha="center", va="bottom", fontsize=8, color=LATE)
    if update.extent.duration_us is not None:
        since = max(update.at) - update.extent.duration_us
        ax.axvspan(since, max(update.at), color="0.5", alpha=0.15, linewidth=0)
        ax.text(max(update.at) + 0.5, 2.05, "the extent", ha="right", va="center", fontsize=8, color="0.4")


def _draw_run(ax: Any, run: CoalescedRun, bottom: float, line: str, *, changed: bool) -> None:
    length = max(run.end_us - run.start_us, 1)
    edge = {"edgecolor": LATE if changed else "0.4", "linewidth": 1.6 if changed else 0.6, "linestyle": line}
    ax.broken_barh([(run.start_us, length)], (bottom, 0.22), facecolor=_colour(run.value), alpha=0.75, **edge)
    if length > 1:
        ax.text(run.start_us + length / 2, bottom + 0.11, str(run.value), ha="center", va="center", fontsize=8)


def _colour(celsius: float) -> str:
    return WARM if celsius >= 81 else COOL


def numbers_of_updates() -> Numbers:
    """Return start, end and value of each run."""
    return {
        f"{update.name}, {when}": np.column_stack([runs.start_us, runs.end_us, _numbers(runs)]).ravel().tolist()
        for update in UPDATES
        for when, runs in zip(("before", "after"), update.runs(), strict=True)
    }


def _numbers(runs: Runs) -> Any:
    return np.zeros(len(runs)) if runs.value is None else runs.value


def draw_hold() -> Any:
    """Draw how long readings hold, and the limit applied after and before that."""
    fig, ax = figure(9.0, 3.4)
    start, end = validity(AT, hold_us=HOLD)
    for begin, until, celsius in zip(start, end, CELSIUS, strict=True):
        ax.plot([begin, until], [celsius, celsius], color=_side(celsius), linewidth=2.5, solid_capstyle="butt")
        ax.plot(begin, celsius, "o", color=_side(celsius), markersize=5)
    ax.axhline(LIMIT, color="0.5", linewidth=0.8, linestyle="--")
    ax.text(54.8, LIMIT + 0.2, f"limit {LIMIT}°", ha="right", va="bottom", fontsize=8, color="0.4")
    for bottom, name, runs, colour in ((93.6, "hot", hot_runs(), WARM), (91.6, "wrong", wrong_runs(), LATE)):
        ax.broken_barh(
            [(run.start_us, run.end_us - run.start_us) for run in runs], (bottom, 1.2), color=colour, alpha=0.7
        )
        ax.text(4.2, bottom + 0.6, name, ha="right", va="center", fontsize=8)
    ax.annotate(
        f"holds {HOLD} min,\nthen nothing is known",
        (28, 102),
        (24, 103.6),
        fontsize=8,
        ha="center",
        va="bottom",
        color="0.3",
        arrowprops={"arrowstyle": "->", "color": "0.5"},
    )
    ax.set(xlabel="minutes", ylabel="°", xlim=(0, 55), ylim=(91, 106))
    return fig


def _side(celsius: int) -> str:
    return WARM if celsius > LIMIT else COOL


def hot_runs() -> Runs:
    """Return when it was above the limit: readings have their intervals before some are left out."""
    start, end = validity(AT, hold_us=HOLD)
    hot = np.array(CELSIUS) > LIMIT
    return coalesce(start[hot], end[hot])


def wrong_runs() -> Runs:
    """Return what comes out if cool readings are dropped first: nothing ends the hot one before."""
    hot = np.array(CELSIUS) > LIMIT
    return coalesce(*validity(np.array(AT)[hot], hold_us=HOLD))


def numbers_of_hold() -> Numbers:
    """Return the end of each reading, and the runs."""
    right, wrong = hot_runs(), wrong_runs()
    return {
        "ends": validity(AT, hold_us=HOLD)[1].tolist(),
        "hot": [*right.start_us.tolist(), *right.end_us.tolist()],
        "wrong": [*wrong.start_us.tolist(), *wrong.end_us.tolist()],
    }


FIXED = (4, 8)  # b of the picture of relations
HALVES = len(ALLEN) // 2 + 1

SERIES = [20, 20, 21, 23, 23, 26, 25, 24, 21, 21, 22, 22]
RULES: dict[str, Equivalence] = {
    "Equal()": Equal(),
    "Bounded(1)": Bounded(1),
    "Increasing()": Increasing(),
    "Decreasing()": Decreasing(),
    "Quantised(5)": Quantised(5),
    "Predicate(both above 22)": Predicate(lambda previous, following: min(previous, following) > 22),
}


def examples() -> dict[str, tuple[int, int]]:
    """Return for each relation the first interval of the search that stands in it to `FIXED`."""
    pairs = [(start, end) for start, end in product(range(1, 12), range(1, 12)) if start + 2 <= end <= start + 6]
    starts, ends = ([pair[side] for pair in pairs] for side in (0, 1))
    names = relation(Intervals(starts, ends), Intervals([FIXED[0]], [FIXED[1]])).tolist()
    return {name: pairs[names.index(name)] for name in ALLEN}


def draw_allen() -> Any:
    """Draw a and b for each of the thirteen."""
    fig, axes = figure(9.0, 4.2, 1, 2)
    relations = list(examples().items())
    for ax, part in zip(axes, (relations[:HALVES], relations[HALVES:]), strict=True):
        for row, (name, (start, end)) in enumerate(part):
            ax.broken_barh([(FIXED[0], FIXED[1] - FIXED[0])], (-row - 0.45, 0.3), color=BLUE, alpha=0.5)
            ax.broken_barh([(start, end - start)], (-row - 0.1, 0.3), color=ORANGE if shares(start, end) else "0.6")
            ax.text((start + end) / 2, -row + 0.05, "a", ha="center", va="center", fontsize=7)
            ax.text(sum(FIXED) / 2, -row - 0.31, "b", ha="center", va="center", fontsize=7)
            ax.text(-0.3, -row, f"a {name} b", ha="right", va="center", fontsize=8)
        for edge in FIXED:
            ax.axvline(edge, color=BLUE, linewidth=0.6, linestyle=":")
        ax.set(xlim=(-5.5, 12), ylim=(-HALVES + 0.4, 0.4))
        ax.axis("off")
    return fig


def shares(start: int, end: int) -> bool:
    """Whether an interval has an instant in common with `FIXED`."""
    return bool(overlaps_tsql2(Intervals([start], [end]), Intervals([FIXED[0]], [FIXED[1]]))[0])


def numbers_of_allen() -> Numbers:
    """Return both ends of a, and whether TSQL2's OVERLAPS holds."""
    return {name: [start, end, shares(start, end)] for name, (start, end) in examples().items()}


def draw_equivalences() -> Any:
    """Draw the series, and its runs by each rule."""
    fig, ax = figure(9.0, 3.6)
    start, end = validity(range(len(SERIES)))
    for begin, until, value in zip(start, end, SERIES, strict=True):
        ax.plot([begin, until], [value, value], color="0.3", linewidth=2)
        ax.text(begin + 0.08, value + 0.35, str(value), fontsize=8)
        ax.plot(begin, value, "o", color="0.3", markersize=4)
    for row, (name, runs) in enumerate(runs_by_rule().items()):
        bottom = 17.5 - 1.6 * row
        bars = [(run.start_us + 0.04, max(run.end_us - run.start_us, 0.15) - 0.08) for run in runs]
        for number, bar in enumerate(bars):
            ax.broken_barh([bar], (bottom, 1.1), color=BLUE if number % 2 else ORANGE, alpha=0.7)
        ax.text(-0.15, bottom + 0.5, name, ha="right", va="center", fontsize=8)
    ax.set(xlim=(-2.6, 11.6), ylim=(9, 27.5), yticks=[], xlabel="hours")
    ax.spines["left"].set_visible(False)
    return fig


def runs_by_rule() -> dict[str, Runs]:
    """Return the runs of the series."""
    intervals = validity(range(len(SERIES)))
    return {name: coalesce(*intervals, value=SERIES, equivalence=rule) for name, rule in RULES.items()}


def numbers_of_equivalences() -> Numbers:
    """Return where runs start."""
    return {name: runs.start_us.tolist() for name, runs in runs_by_rule().items()}


PICTURES: Pictures = {
    FOLDER / "hold.svg": (draw_hold, numbers_of_hold),
    FOLDER / "updates.svg": (draw_updates, numbers_of_updates),
    FOLDER / "equivalences.svg": (draw_equivalences, numbers_of_equivalences),
    FOLDER / "allen.svg": (draw_allen, numbers_of_allen),
}
