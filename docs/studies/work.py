"""Work against size of the answer: the window join paper's BEW and FEW on picks, in the place of the paper's sales.

Picks of one phase at each of the busiest stations lie within a window; after every hour of the morning: results so far,
and operations so far. Picks count as exact times. `--picture FILE.svg` draws operations against results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import ConstraintGraph, Detections, Histogram, Window
from coincide.papers.counted_answer import PaperResult
from coincide.papers.recording import Recording
from docs.pictures import figure, save
from docs.studies.picks import Pick, load_picks
from docs.studies.window_join_work import LINES, RUN, UNIFORM
from tests.reference.central_italy import why_absent

HOURS = 12
STATIONS = (3, 4, 5)
WINDOW = Window(10.0)


def busiest(morning: Sequence[Pick], stations: int) -> list[str]:
    return [station for station, _ in Counter(pick.source[0] for pick in morning).most_common(stations)]


def joined(of: Sequence[Pick], stations: Sequence[str], algorithm: str) -> PaperResult:
    """Join picks of the same phase, one of each station."""
    own = {station: [pick for pick in of if pick.source[0] == station] for station in stations}
    times_us = {station: [round(pick.second * 1e6) for pick in own[station]] for station in stations}
    of_station = {station: Detections(times_us[station], [Histogram.point()]) for station in stations}
    key = {station: [pick.source[1] for pick in own[station]] for station in stations}
    return RUN[algorithm](Recording(of_station, key=key), ConstraintGraph.clique(stations, WINDOW))


def curves(stations: int, hours: Sequence[int] = range(1, HOURS + 1)) -> dict[str, list[float]]:
    """Return results and operations of each algorithm up to each hour, and how long a pick waited at most."""
    morning = _morning()
    names = busiest(morning, stations)
    parts = [[pick for pick in morning if pick.second < hour * 3600] for hour in hours]
    counts = {name: [joined(part, names, name) for part in parts] for name in UNIFORM}
    return {
        "results": [float(len(measured.members)) for measured in counts[UNIFORM[0]]],
        **{name: [float(each.work.operations) for each in counts[name]] for name in UNIFORM},
        "longest wait of FEW, s": [each.work.longest_wait_us / 1e6 for each in counts["few-hash"]],
    }


@cache
def _morning() -> list[Pick]:
    return load_picks()


def draw(path: Path) -> None:
    """Draw operations against results, a panel for each number of stations."""
    counts = {stations: curves(stations) for stations in STATIONS}
    drawn, axes = figure(9.5, 3.4, 1, len(STATIONS))
    for ax, (stations, of) in zip(axes, counts.items(), strict=True):
        for name in UNIFORM:
            color, line = LINES[name]
            thousands = [each / 1000 for each in of[name]]
            ax.plot(of["results"], thousands, line, color=color, markersize=4, markerfacecolor="none", label=name)
        ax.set(xlabel=f"results, {stations} stations", xlim=(0, None), ylim=(0, None))
    axes[0].set_ylabel("operations, thousands")
    axes[0].legend()
    save(
        drawn, path, {f"{stations} stations: {name}": ys for stations, of in counts.items() for name, ys in of.items()}
    )


def tables(options: Options) -> Iterator[Table]:
    last = {stations: curves(stations, hours=[2 if options.quick else HOURS]) for stations in STATIONS}
    rows = [[stations, *(f"{ys[-1]:,.0f}" for ys in of.values())] for stations, of in last.items()]
    yield Table(("stations", *last[STATIONS[0]]), rows)
    if options.picture:
        draw(options.picture)


BENCHMARKS = [
    Benchmark("window_join_italy", "operations of BEW and FEW on the morning's picks", [tables], why_not=why_absent)
]
