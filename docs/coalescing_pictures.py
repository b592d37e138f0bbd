"""The pictures of docs/coalescing.md, from the library itself: `python -m docs.coalescing_pictures`.

`PICTURES` names each file, what draws it and which numbers it is known by. Times are whole microseconds to the library
and stand for minutes here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coincide import EagerCoalescing, Runs, WindowExtent, coalesce, validity
from coincide.coalescing import Run
from docs.interval_pictures import (
    draw_allen,
    draw_equivalences,
    numbers_of_allen,
    numbers_of_equivalences,
)
from docs.pictures import Numbers, figure, save

FOLDER = Path(__file__).parent / "coalescing"
WARM, COOL, LATE = "C1", "C0", "C3"

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


def _draw_run(ax: Any, run: Run, bottom: float, line: str, *, changed: bool) -> None:
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
        f"holds {HOLD} min,\nthen nothing is known", (28, 102), (24, 103.6), fontsize=8, ha="center", va="bottom",
        color="0.3",
        arrowprops={"arrowstyle": "->", "color": "0.5"},
    )  # fmt: skip
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


PICTURES: dict[Path, tuple[Callable[[], Any], Callable[[], Numbers]]] = {
    FOLDER / "hold.svg": (draw_hold, numbers_of_hold),
    FOLDER / "updates.svg": (draw_updates, numbers_of_updates),
    FOLDER / "equivalences.svg": (draw_equivalences, numbers_of_equivalences),
    FOLDER / "allen.svg": (draw_allen, numbers_of_allen),
}


def main() -> None:
    """Draw all pictures."""
    for path, (draw, numbers) in PICTURES.items():
        save(draw(), path, numbers())


if __name__ == "__main__":
    main()
