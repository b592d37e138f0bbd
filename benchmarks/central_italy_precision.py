"""Which picks come from one earthquake? Point windows beside the timing join, on the Central Italy morning.

`python -m benchmarks.central_italy_precision [--picture FILE.svg]`: everything that can be tuned is tuned on the first
half of the morning and measured on the second. What is joined are the automatic P and S picks of 59 stations, picks
of different stations with each other. A pair is right if the catalogue associates both picks with one event. Three
picks in four are associated with none; pairs with those count as wrong, though some belong to earthquakes too small
for the catalogue, so every precision is a lower bound, and the same one for all competitors.

`COINCIDE_DATA` names the folder that holds central-italy-2016 (see tests/reference/central_italy.py).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, median

import numpy as np
import numpy.typing as npt

from coincide import Detections, Histogram, Pairs, Window, timing_join
from tests.reference.central_italy import MIDNIGHT_US, folder, why_absent

HALF_S = 6 * 3600.0
PICTURED_S = 0.25
FEWEST_SAMPLES = 30  # a station and phase with fewer associated picks has the template of its phase
BUCKETS = 8
WINDOWS_S = (0.25, 0.5, 1.0, 2.0, 3.0)
THRESHOLDS = (
    0.02,
    0.03,
    0.04,
    0.05,
    0.06,
    0.08,
    0.1,
    0.12,
    0.14,
    0.16,
    0.18,
    0.2,
    0.25,
    0.3,
    0.35,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
)
WIDTHS_S = tuple(np.arange(0.25, 12.01, 0.25).tolist())

Source = tuple[str, str]
"""Station and phase: what a template belongs to."""
Samples = Mapping[Source, list[float]]
Templates = Mapping[Source, Histogram]


@dataclass(frozen=True)
class Pick:
    """One pick, and the events that the catalogue associates it with (most often none, now and then two)."""

    source: Source
    second: float
    events: frozenset[str]


@dataclass(frozen=True)
class Score:
    """How a competitor did with one setting."""

    setting: str
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.precision * self.recall / max(self.precision + self.recall, 1e-12)


@dataclass(frozen=True)
class Half:
    """Half a morning of picks in order of time, and the pairs that are right, as left * len(picks) + right."""

    picks: list[Pick]
    right_pairs: npt.NDArray[np.int64]

    @classmethod
    def of(cls, picks: Iterable[Pick]) -> Half:
        """Pair the picks of one event and different stations."""
        ordered = sorted(picks, key=lambda pick: pick.second)
        members: dict[str, list[int]] = defaultdict(list)
        for position, pick in enumerate(ordered):
            for event in pick.events:
                members[event].append(position)
        pairs = (pair for group in members.values() for pair in combinations(group, 2))
        apart = {i * len(ordered) + j for i, j in pairs if ordered[i].source[0] != ordered[j].source[0]}
        return cls(ordered, np.array(sorted(apart), np.int64))

    def frame(self, templates: Templates) -> Detections:
        """Return the picks with the given templates."""
        number = {source: position for position, source in enumerate(templates)}
        index = [number[pick.source] for pick in self.picks]
        time_us = [MIDNIGHT_US + round(pick.second * 1e6) for pick in self.picks]
        return Detections(time_us, list(templates.values()), index, sensor=[pick.source[0] for pick in self.picks])

    def are_right(self, pairs: Pairs) -> npt.NDArray[np.bool_]:
        """Return which pairs are of one event."""
        first, second = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
        return np.isin(first * len(self.picks) + second, self.right_pairs)


@dataclass(frozen=True)
class Competitor:
    """A way to join, with one setting to be swept: a width, or a threshold."""

    name: str
    templates: Templates
    window_s: float | None = None  # None: a point window, whose width is swept

    def scores(self, half: Half) -> list[Score]:
        """Return one score for each setting: one join at the loosest, and then what is left of its pairs."""
        frame = half.frame(self.templates)
        if self.window_s is None:
            pairs = timing_join(frame, None, Window(WIDTHS_S[-1]), 1.0)
            apart_s = _seconds_apart(frame, pairs)
            kept = [(f"±{width:g} s", apart_s <= width) for width in WIDTHS_S]
        else:
            pairs = timing_join(frame, None, Window(self.window_s), THRESHOLDS[0])
            kept = [(f"±{self.window_s:g} s, P ≥ {p:g}", pairs.probability >= p - 1e-12) for p in THRESHOLDS]
        right = half.are_right(pairs)
        return [
            Score(
                setting,
                float(right[these].sum() / max(these.sum(), 1)),
                float(right[these].sum() / len(half.right_pairs)),
            )
            for setting, these in kept
        ]


def _seconds_apart(frame: Detections, pairs: Pairs) -> npt.NDArray[np.float64]:
    """Return how far apart exact times lie."""
    at_us = (frame.earliest_us + frame.latest_us) // 2
    return np.abs(at_us[pairs.right] - at_us[pairs.left]) / 1e6


def load_picks() -> list[Pick]:
    """Return all picks of the morning."""
    events: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in _rows("associations-am.csv.gz"):
        events[_station(row), row["phase"], row["second"]].add(row["event"])
    return [
        Pick(
            (_station(row), row["phase"]),
            float(row["second"]),
            frozenset(events[_station(row), row["phase"], row["second"]]),
        )
        for row in _rows("picks-am.csv.gz")
    ]


def delays_of_first_half() -> tuple[Samples, Samples]:
    """Return the delays after origin time of each source, and the same without what all picks of an event share.

    An event that is deeper or further away than most is late everywhere. That part cancels when two picks of it are
    compared; left inside the templates it would count twice, because the join takes their errors as independent.
    """
    rows = [row for row in _rows("associations-am.csv.gz") if float(row["origin_second"]) < HALF_S]
    delays: dict[Source, list[float]] = defaultdict(list)
    for row in rows:
        delays[_station(row), row["phase"]].append(float(row["travel_time"]))
    mean = {source: fmean(values) for source, values in delays.items()}
    over: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        over[row["event"]].append(float(row["travel_time"]) - mean[_station(row), row["phase"]])
    shared = {event: median(values) for event, values in over.items()}
    own: dict[Source, list[float]] = defaultdict(list)
    for row in rows:
        own[_station(row), row["phase"]].append(float(row["travel_time"]) - shared[row["event"]])
    return delays, own


def _rows(name: str) -> list[dict[str, str]]:
    with gzip.open(folder() / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _station(row: Mapping[str, str]) -> str:
    return f"{row['network']}.{row['station']}"


def of_phase(samples: Samples) -> dict[str, list[float]]:
    """Return the samples of all stations, by phase."""
    return {phase: [x for (_, of), values in samples.items() if of == phase for x in values] for phase in ("P", "S")}


def equal_mass(delays_s: list[float]) -> Histogram:
    """Return the distribution of (happened - picked) in buckets of equal mass."""
    edges_s = np.quantile(-np.array(delays_s), np.linspace(0, 1, BUCKETS + 1))
    return Histogram(edges_s, np.full(BUCKETS, 1 / BUCKETS))


def learnt(samples: Samples, sources: Iterable[Source]) -> dict[Source, Histogram]:
    """Return a template for each source."""
    phases = {phase: equal_mass(values) for phase, values in of_phase(samples).items()}
    own = {source: equal_mass(values) for source, values in samples.items() if len(values) >= FEWEST_SAMPLES}
    return {source: own.get(source, phases[source[1]]) for source in sources}


def exact_at(delay_s: Mapping[Source, float]) -> dict[Source, Histogram]:
    """Return templates that correct each source by a constant and know nothing of uncertainty."""
    return {source: Histogram.point().shift(-delay) for source, delay in delay_s.items()}


def competitors(sources: list[Source]) -> list[Competitor]:
    """Return the competitors, everything they know learnt from the first half."""
    delays, own = delays_of_first_half()
    phase = {name: fmean(values) for name, values in of_phase(delays).items()}
    templates = learnt(own, sources)
    return [
        Competitor("point window", exact_at(dict.fromkeys(sources, 0.0))),
        Competitor("point window, a constant for P and one for S", exact_at({of: phase[of[1]] for of in sources})),
        Competitor(
            "point window, a constant a station and phase", exact_at({of: -templates[of].mean_s for of in sources})
        ),
        *(Competitor("timing join", templates, window_s) for window_s in WINDOWS_S),
        *(Competitor("timing join, shared part left in", learnt(delays, sources), window_s) for window_s in WINDOWS_S),
    ]


Curves = list[tuple[Competitor, list[Score], list[Score]]]
"""Each competitor's scores in the first half and in the second, setting by setting."""


def tuned(curves: Curves, name: str) -> tuple[Score, Score]:
    """Return the setting that is best in the first half, and how it does in the second."""
    settings = [pair for of, first, second in curves if of.name == name for pair in zip(first, second, strict=True)]
    return max(settings, key=lambda pair: pair[0].f1)


def print_tables(curves: Curves) -> None:
    """Print what goes into docs/timing-join.md."""
    print("| join | setting, best in the first half | precision | recall | F1 |\n|---|---|---|---|---|")
    for name in dict.fromkeys(of.name for of, _, _ in curves):
        _, score = tuned(curves, name)
        print(f"| {name} | {score.setting} | {score.precision:.3f} | {score.recall:.3f} | {score.f1:.3f} |")
    shown = (0.05, 0.1, 0.2, 0.4, 0.6)
    print(f"\n| window | {' | '.join(f'P ≥ {p:g}' for p in shown)} |\n|---|{'---|' * len(shown)}")
    for of, _, second in curves:
        if of.name == "timing join":
            cells = [
                f"{score.precision:.2f} / {score.recall:.2f}" for score in (second[THRESHOLDS.index(p)] for p in shown)
            ]
            print(f"| ±{of.window_s:g} s | {' | '.join(cells)} |")


def main() -> None:
    """Print the tables; draw the picture if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="where to draw precision against recall")
    picture = parser.parse_args().picture
    if reason := why_absent():
        sys.exit(reason)
    picks = load_picks()
    first, second = (Half.of(each for each in picks if (each.second < HALF_S) == early) for early in (True, False))
    sources = sorted({each.source for each in picks})
    curves: Curves = [(of, of.scores(first), of.scores(second)) for of in competitors(sources)]
    print_tables(curves)
    if picture:
        draw(curves, picture)


def draw(curves: Curves, path: Path) -> None:
    """Draw precision against recall in the second half; a dot where the first half says to go."""
    from docs.timing_join_pictures import figure, saved  # noqa: PLC0415 - matplotlib is for pictures alone

    fig, ax = figure(6.4, 4.2)
    shown = curves[:3] + [curve for curve in curves if curve[0].window_s == PICTURED_S][:1]
    for (of, _, second), colour in zip(shown, ("0.65", "C0", "C2", "C3"), strict=True):
        ax.plot([each.recall for each in second], [each.precision for each in second], color=colour, label=of.name)
        _, score = tuned(curves, of.name)
        ax.plot(score.recall, score.precision, "o", color=colour)
    ax.set(xlabel="recall", ylabel="precision (lower bound)", xlim=(0, 1), ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)
    saved(fig, path)


if __name__ == "__main__":
    main()
