"""Two pictures of docs/coalescing.md: Allen's thirteen relations, and one series by every equivalence."""

from __future__ import annotations

from itertools import product
from typing import Any

from coincide import Bounded, Decreasing, Equal, Increasing, Quantised, Runs, coalesce, validity
from coincide.coalescing import Equivalence, Predicate
from coincide.temporal import ALLEN, Intervals, overlaps_tsql2, relation
from docs.pictures import Numbers, figure

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
    """Return for each relation an interval that is so to `FIXED`: the longest of the first to be found."""
    pairs = [(start, end) for start, end in product(range(1, 12), range(1, 12)) if start + 2 <= end <= start + 6]
    starts, ends = ([pair[side] for pair in pairs] for side in (0, 1))
    names = relation(Intervals(starts, ends), Intervals([FIXED[0]], [FIXED[1]])).tolist()
    return {name: pairs[names.index(name)] for name in ALLEN}


def draw_allen() -> Any:
    """Draw a and b for each of the thirteen."""
    fig, axes = figure(9.0, 4.2, 1, 2)
    listed = list(examples().items())
    for ax, part in zip(axes, (listed[:HALVES], listed[HALVES:]), strict=True):
        for row, (name, (start, end)) in enumerate(part):
            ax.broken_barh([(FIXED[0], FIXED[1] - FIXED[0])], (-row - 0.45, 0.3), color="C0", alpha=0.5)
            ax.broken_barh([(start, end - start)], (-row - 0.1, 0.3), color="C1" if shares(start, end) else "0.6")
            ax.text((start + end) / 2, -row + 0.05, "a", ha="center", va="center", fontsize=7)
            ax.text(sum(FIXED) / 2, -row - 0.31, "b", ha="center", va="center", fontsize=7)
            ax.text(-0.3, -row, f"a {name} b", ha="right", va="center", fontsize=8)
        for edge in FIXED:
            ax.axvline(edge, color="C0", linewidth=0.6, linestyle=":")
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
            ax.broken_barh([bar], (bottom, 1.1), color="C0" if number % 2 else "C1", alpha=0.7)
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
