"""The picks of the Central Italy morning, which pairs of them are of one earthquake, and how late stations pick."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from coincide import Detections, Histogram, Pairs
from tests.reference.central_italy import MIDNIGHT_US, folder

HALF_S = 6 * 3600.0

Source = tuple[str, str]
"""Station and phase: what a template belongs to."""
Samples = Mapping[Source, list[float]]
Templates = Mapping[Source, Histogram]

FEWEST_SAMPLES = 30  # as many as a histogram needs; a station and phase with fewer has the template of its phase


@dataclass(frozen=True)
class Pick:
    """One pick, and the events that the catalogue associates it with (most often none, now and then two)."""

    source: Source
    second: float
    events: frozenset[str]


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

    def detections(self, templates: Templates) -> Detections:
        number = {source: position for position, source in enumerate(templates)}
        index = [number[pick.source] for pick in self.picks]
        time_us = [MIDNIGHT_US + round(pick.second * 1e6) for pick in self.picks]
        return Detections(time_us, list(templates.values()), index, sensor=[pick.source[0] for pick in self.picks])

    def are_right(self, pairs: Pairs) -> npt.NDArray[np.bool_]:
        """Return which pairs are of one event."""
        first, second = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
        return np.isin(first * len(self.picks) + second, self.right_pairs)


def load_picks() -> list[Pick]:
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


def delays_of_first_half() -> Samples:
    """Return how long after the origin time each source picked the events of the first half, in seconds."""
    delays: dict[Source, list[float]] = defaultdict(list)
    for row in _rows("associations-am.csv.gz"):
        if float(row["origin_second"]) < HALF_S:
            delays[_station(row), row["phase"]].append(float(row["travel_time"]))
    return delays


def of_phase(samples: Samples) -> dict[str, list[float]]:
    """Return the samples of all stations, by phase."""
    return {phase: [x for (_, of), values in samples.items() if of == phase for x in values] for phase in ("P", "S")}


def happened_after(delays_s: list[float]) -> Histogram:
    return Histogram.from_samples([-delay_s for delay_s in delays_s])


def learnt(samples: Samples, sources: Iterable[Source]) -> dict[Source, Histogram]:
    phases = {phase: happened_after(values) for phase, values in of_phase(samples).items()}
    own = {source: happened_after(values) for source, values in samples.items() if len(values) >= FEWEST_SAMPLES}
    return {source: own.get(source, phases[source[1]]) for source in sources}


def exact_at(delay_s: Mapping[Source, float]) -> dict[Source, Histogram]:
    """Return templates that correct each source by a constant and know nothing of uncertainty."""
    return {source: Histogram.point().shift(-delay) for source, delay in delay_s.items()}


def origin_seconds() -> dict[str, float]:
    """Return the origin time of every labelled event, in seconds of the day."""
    return {row["event"]: float(row["origin_second"]) for row in _rows("events-am.csv.gz")}


def _rows(name: str) -> list[dict[str, str]]:
    with gzip.open(folder() / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _station(row: Mapping[str, str]) -> str:
    return f"{row['network']}.{row['station']}"
