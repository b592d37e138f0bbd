"""Work against size of the answer, on the Central Italy picks in the place of the window join paper's sales.

`python -m benchmarks.window_join_italy [--picture FILE.svg]`: picks of one phase at each of the busiest stations within
a window, after every hour of the morning: results so far, and operations so far of BEW and FEW. Picks count as exact
times. `COINCIDE_DATA` names the folder that holds central-italy-2016 (see tests/reference/central_italy.py).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks.central_italy_picks import Pick, load_picks
from benchmarks.window_join_costs import RUN, UNIFORM
from benchmarks.window_join_figure import LINES
from coincide import ConstraintGraph, Detections, Histogram, Window
from coincide.papers.window_join.counted_work import Measured
from coincide.papers.window_join.window_replay import Arrivals
from docs.pictures import figure, save
from tests.reference.central_italy import why_absent

HOURS = 12
STATIONS = (3, 4, 5)
WINDOW = Window(10.0)


def busiest(morning: Sequence[Pick], stations: int) -> list[str]:
    """Return the stations with the most picks."""
    return [station for station, _ in Counter(pick.source[0] for pick in morning).most_common(stations)]


def joined(of: Sequence[Pick], stations: Sequence[str], algorithm: str) -> Measured:
    """Join picks of the same phase, one of each station."""
    own = {station: [pick for pick in of if pick.source[0] == station] for station in stations}
    times_us = {station: [round(pick.second * 1e6) for pick in own[station]] for station in stations}
    frames = {station: Detections(times_us[station], [Histogram.point()]) for station in stations}
    key = {station: [pick.source[1] for pick in own[station]] for station in stations}
    return RUN[algorithm](Arrivals(frames, key=key), ConstraintGraph.clique(stations, WINDOW))


def curves(stations: int, hours: Sequence[int] = range(1, HOURS + 1)) -> dict[str, list[float]]:
    """Return results and operations of each algorithm up to each hour, and how long a pick waited at most."""
    morning = _morning()
    names = busiest(morning, stations)
    parts = [[pick for pick in morning if pick.second < hour * 3600] for hour in hours]
    found = {name: [joined(part, names, name) for part in parts] for name in UNIFORM}
    return {
        "results": [float(len(measured.members)) for measured in found[UNIFORM[0]]],
        **{name: [float(each.work.operations) for each in found[name]] for name in UNIFORM},
        "longest wait of FEW, s": [each.work.longest_wait_us / 1e6 for each in found["few-hash"]],
    }


@cache
def _morning() -> list[Pick]:
    return load_picks()


def draw(path: Path) -> None:
    """Draw operations against results, a panel for each number of stations."""
    found = {stations: curves(stations) for stations in STATIONS}
    drawn, axes = figure(9.5, 3.4, 1, len(STATIONS))
    for ax, (stations, of) in zip(axes, found.items(), strict=True):
        for name in UNIFORM:
            color, line = LINES[name]
            thousands = [each / 1000 for each in of[name]]
            ax.plot(of["results"], thousands, line, color=color, markersize=4, markerfacecolor="none", label=name)
        ax.set(xlabel=f"results, {stations} stations", xlim=(0, None), ylim=(0, None))
    axes[0].set_ylabel("operations, thousands")
    axes[0].legend()
    save(drawn, path, {f"{stations} stations: {name}": ys for stations, of in found.items() for name, ys in of.items()})


def main() -> None:
    """Print the counts of the whole morning; draw the picture if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="where to draw operations against results")
    picture = parser.parse_args().picture
    if reason := why_absent():
        print(f"skipped: {reason}")
        return
    for stations in STATIONS:
        for name, ys in curves(stations, hours=[HOURS]).items():
            print(f"{stations} stations  {name:<24}{ys[-1]:12,.0f}")
    if picture:
        draw(picture)


if __name__ == "__main__":
    main()
