"""An hour of the Central Italy aftershock morning (2016-10-14), for tests that need the real thing.

`COINCIDE_DATA` names the folder that holds `central-italy-2016`. Its P and S picks of an automatic picker at 60
stations are those that LOC-FLOW (Zhang et al., Seismol. Res. Lett. 2022, MIT licence) ships as its example.

The templates are measured. For one event, S travel time is close to k times P travel time at every station (Wadati).
What is left over, less each event's median, is the error of both picks and what the ground does. Here k = 1.886 and
half of the left-overs lie within 0.16 s, a standard deviation of 0.12 s. If an S pick is twice as uncertain as a P
pick, that is 0.04 s for P; we allow half as much again. S has the left-overs themselves, sign reversed.
"""

import csv
import gzip
import os
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import NormalDist, median, quantiles

from tests.reference.pair_probability import Template

MIDNIGHT_US = int(datetime(2016, 10, 14, tzinfo=UTC).timestamp()) * 1_000_000


@dataclass(frozen=True)
class Pick:
    """One phase pick: ``station`` is network.station, ``phase`` is P or S."""

    station: str
    phase: str
    detected_at_us: int


def folder() -> Path:
    beside_checkout = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
    return Path(os.environ.get("COINCIDE_DATA", beside_checkout)) / "central-italy-2016"


def why_absent() -> str | None:
    """Return the reason to skip, or None where the data is there."""
    if (folder() / "picks-am.csv.gz").is_file():
        return None
    return f"no Central Italy picks in {folder()}: set COINCIDE_DATA to the folder that holds central-italy-2016"


def picks(hour: int = 0) -> list[Pick]:
    """Return one hour of picks (0 to 11) in order of time; 2,300 to 4,300 of them."""
    return [
        Pick(f"{row['network']}.{row['station']}", row["phase"], MIDNIGHT_US + round(float(row["second"]) * 1e6))
        for row in _rows("picks-am.csv.gz")
        if hour * 3600 <= float(row["second"]) < (hour + 1) * 3600
    ]


@cache
def templates() -> dict[str, Template]:
    return {"P": _normal(0.06, buckets=8, reach=3.0), "S": _octiles([-x for x in _wadati_left_overs_s()])}


def _rows(name: str) -> list[dict[str, str]]:
    with gzip.open(folder() / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _normal(sigma_s: float, buckets: int, reach: float) -> Template:
    bell = NormalDist(0.0, sigma_s)
    inner = [bell.inv_cdf(i / buckets) for i in range(1, buckets)]
    edges_s = [-reach * sigma_s, *inner, reach * sigma_s]
    return Template(tuple(round(edge_s, 6) for edge_s in edges_s), (1 / buckets,) * buckets)


def _octiles(sample_s: list[float]) -> Template:
    """Eight buckets of equal mass between the 1st and the 99th percentile, rounded to the data's millisecond."""
    centiles = quantiles(sample_s, n=100)
    edges_s = [centiles[0], *quantiles(sample_s, n=8), centiles[-1]]
    return Template(tuple(round(edge_s, 3) + 0.0 for edge_s in edges_s), (0.125,) * 8)


def _wadati_left_overs_s() -> list[float]:
    """S travel time minus k times P travel time, less its median over the event's stations, which are 6 or more."""
    travel_s: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in _rows("associations-am.csv.gz"):
        travel_s[row["event"], f"{row['network']}.{row['station']}"][row["phase"]] = float(row["travel_time"])
    both = [(event, times["P"], times["S"]) for (event, _), times in travel_s.items() if len(times) == 2]
    k = median(s / p for _, p, s in both)
    by_event: dict[str, list[float]] = defaultdict(list)
    for event, p, s in both:
        by_event[event].append(s - k * p)
    return [x - median(xs) for xs in by_event.values() if len(xs) >= 6 for x in xs]
