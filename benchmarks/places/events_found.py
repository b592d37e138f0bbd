"""Which sets of picks are events? P picks of an earthquake morning by windows, by distance, and by one source.

Greedy sets, the same for all ways. The first pick that is left begins a set. Of each other station the first pick that
the way allows joins. A set of enough stations counts and takes its picks; else its first pick goes. A set is an event
if most of its picks are those of one catalogued event, and at least four. The grid search takes the sets by distance,
and keeps the picks that its best node explains to 0.5 s. `largest_set` takes them, too, and keeps the most that one
source explains, wherever it is. `located_source` then says where those sets were, beside the
catalogue.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from time import process_time

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Histogram
from coincide.arrays.kinds import FloatArray, PositionArray
from coincide.places import DistanceWindow, EarthPlace, Places
from coincide.places.local_frame import LocalFrame
from coincide.places.place import Place
from coincide.sources import SourceLocation, SourceRule, largest_set, located_source
from tests.reference.central_italy import folder, why_absent

SPEED_M_S, SLACK_S, RESIDUAL_S, LONGEST_S = 6_000.0, 0.5, 0.5, 30.0
HOURS, QUICK_HOURS = 6, 0.25
LEAST_PICKS, LEAST_STATIONS, THRESHOLD = 4, 6, 0.5
CLOCK = Histogram.normal(0.06)
RULE = SourceRule(SPEED_M_S, 0.5, height_m=(-15_000.0, 0.0), margin_m=20_000)
Way = Callable[["Morning", PositionArray], PositionArray]


@dataclass(frozen=True, eq=False)
class Morning:
    """P picks in order of time: when, at which station, and of which catalogued event (-1: of none)."""

    second: FloatArray
    station: PositionArray
    event: PositionArray
    places: Places
    catalogue: dict[int, EarthPlace]

    @classmethod
    def of(cls, hours: float) -> Morning:
        stations = rows_of("stations.csv.gz")
        number = {f"{row['network']}.{row['station']}": nth for nth, row in enumerate(stations)}
        places = Places.of([EarthPlace(float(r["latitude"]), float(r["longitude"]), height(r)) for r in stations])
        told = {
            (f"{row['network']}.{row['station']}", f"{float(row['second']):.2f}"): int(row["event"])
            for row in rows_of("associations-am.csv.gz")
            if row["phase"] == "P"
        }
        picks = sorted(
            (float(row["second"]), f"{row['network']}.{row['station']}")
            for row in rows_of("picks-am.csv.gz")
            if row["phase"] == "P" and float(row["second"]) < hours * 3600
        )
        event = [told.get((name, f"{second:.2f}"), -1) for second, name in picks]
        catalogue = {
            int(row["event"]): EarthPlace(
                float(row["latitude"]), float(row["longitude"]), -1000 * float(row["depth_km"])
            )
            for row in rows_of("events-am.csv.gz")
        }
        second, station = np.array([at for at, _ in picks]), np.array([number[name] for _, name in picks])
        return cls(second, station, np.array(event), places, catalogue)

    @cached_property
    def windows_s(self) -> FloatArray:
        every = np.arange(len(self.places))
        widths: FloatArray = DistanceWindow(SPEED_M_S, SLACK_S).half_width_ms(
            self.places.distance_m(every[:, None], every)
        )
        return widths / 1000

    @cached_property
    def node_times_s(self) -> FloatArray:
        """Travel times from the nodes of a grid of 3 km, at 4, 8 and 12 km of depth, to every station."""
        stations_m = LocalFrame.around(self.places).metres(self.places)
        low, high = stations_m.min(axis=0) - 20_000, stations_m.max(axis=0) + 20_000
        axes = (np.arange(low[0], high[0], 3_000), np.arange(low[1], high[1], 3_000), [-4_000, -8_000, -12_000])
        nodes = np.stack([each.ravel() for each in np.meshgrid(*axes)], axis=1)
        times: FloatArray = np.sqrt(((nodes[:, None] - stations_m) ** 2).sum(axis=2)) / SPEED_M_S
        return times

    def event_of(self, members: PositionArray) -> int:
        """Return the event that most members are of, if at least four are; else -1."""
        [(event, count)] = Counter(self.event[members].tolist()).most_common(1)
        return event if count >= LEAST_PICKS and 2 * count > len(members) else -1


def rows_of(name: str) -> list[dict[str, str]]:
    with gzip.open(folder() / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def height(row: dict[str, str]) -> float:
    return 1000 * float(row["elevation_km"])


def in_fixed(window_s: float) -> Way:
    def way(morning: Morning, near: PositionArray) -> PositionArray:
        near = near[morning.second[near] - morning.second[near[0]] <= window_s]
        return near[np.unique(morning.station[near], return_index=True)[1]]

    return way


def by_distance(morning: Morning, near: PositionArray) -> PositionArray:
    """Each pick joins that lies in the windows of all that have joined."""
    kept = [int(near[0])]
    windows_s = morning.windows_s
    for pick in near[1:].tolist():
        stations = morning.station[kept]
        apart_s = morning.second[pick] - morning.second[kept]
        if morning.station[pick] not in stations and (apart_s <= windows_s[morning.station[pick], stations]).all():
            kept.append(pick)
    return np.array(kept)


def on_grid(morning: Morning, near: PositionArray) -> PositionArray:
    """Return the picks that one node and time explain, of most stations."""
    members = by_distance(morning, near)
    origin_s = morning.second[members] - morning.node_times_s[:, morning.station[members]]
    order = np.sort(origin_s, axis=1)
    most, best = 0, (0, 0.0)
    for first in range(len(members)):
        counts = (order <= order[:, [first]] + RESIDUAL_S).sum(axis=1) - first
        node = int(np.argmax(counts))
        if counts[node] > most:
            most, best = int(counts[node]), (node, float(order[node, first]))
    node, start_s = best
    explained: PositionArray = members[(origin_s[node] >= start_s) & (origin_s[node] <= start_s + RESIDUAL_S)]
    return explained


def by_source(morning: Morning, near: PositionArray) -> PositionArray:
    """Return the most picks that one source explains."""
    members = by_distance(morning, near)
    if len(members) < LEAST_STATIONS:
        return members[:0]
    found = largest_set(RULE, *observed(morning, members), THRESHOLD, LEAST_STATIONS)
    explained: PositionArray = members[list(found.members)]
    return explained


def observed(morning: Morning, members: PositionArray) -> tuple[Places, list[Histogram], list[int]]:
    stations = Places.of([morning.places[each] for each in morning.station[members].tolist()])
    times_us = np.rint(morning.second[members] * 1e6).astype(np.int64).tolist()
    return stations, [CLOCK] * len(members), times_us


def located(morning: Morning, members: PositionArray) -> SourceLocation | None:
    return located_source(RULE, *observed(morning, members))


def sets_of(morning: Morning, way: Way, least: int) -> list[PositionArray]:
    taken, sets = np.zeros(len(morning.second), np.bool_), []
    for first in range(len(morning.second)):
        if taken[first]:
            continue
        last = int(np.searchsorted(morning.second, morning.second[first] + LONGEST_S))
        near = first + np.flatnonzero(~taken[first:last])
        if len(np.unique(morning.station[near])) >= least and len(members := way(morning, near)) >= least:
            sets.append(members)
            taken[members] = True
        taken[first] = True
    return sets


def events_found(options: Options) -> Iterator[Table]:
    hours = QUICK_HOURS if options.quick else HOURS
    morning = Morning.of(hours)

    def rows() -> Iterator[tuple[object, ...]]:
        ways: list[tuple[str, Way]] = [
            *((f"window {width_s:g} s", in_fixed(width_s)) for width_s in (4.0, 6.0, 8.0)),
            ("by distance, 6 km/s + 0.5 s", by_distance),
            ("one place of a grid of 3 km, 0.5 s", on_grid),
            (f"one source, 0.5 s, P >= {THRESHOLD:g}", by_source),
        ]
        for name, way in ways:
            for least in (LEAST_STATIONS, 8):
                began_s = process_time()
                sets = sets_of(morning, way, least)
                cpu_s = process_time() - began_s
                events = [event for each in sets if (event := morning.event_of(each)) >= 0]
                precision = f"{len(events) / max(1, len(sets)):.2f}"
                yield name, least, len(sets), precision, len(set(events)), f"{cpu_s:.1f}"

    enough = [n for e, n in Counter(morning.event.tolist()).items() if e >= 0 and n >= 6]
    title = f"{len(morning.second):,} P picks of {hours:g} hours; {len(enough)} events have 6 or more"
    headings = ("way", "stations, at least", "sets", "precision", "events found", "CPU s")
    yield Table(headings, rows(), title)


def places_found(options: Options) -> Iterator[Table]:
    """Locate the sets that one place of the grid explains, and compare those of events with the catalogue."""
    morning = Morning.of(QUICK_HOURS if options.quick else HOURS)

    def rows() -> Iterator[tuple[object, ...]]:
        for least in (6, 8):
            sets = sets_of(morning, on_grid, least)
            began_s = process_time()
            found = [located(morning, each) for each in sets]
            cpu_ms = 1000 * (process_time() - began_s) / max(1, len(sets))
            away_km = [
                distance_km(morning.catalogue[event], each.place)
                for each, members in zip(found, sets, strict=True)
                if each is not None and (event := morning.event_of(members)) >= 0
            ]
            explained = sum(each is not None for each in found)
            yield least, len(sets), explained, len(away_km), f"{np.median(away_km):.1f}", f"{cpu_ms:.0f}"

    headings = ("stations, at least", "sets", "explained", "of events", "km from the catalogue, median", "CPU ms a set")
    yield Table(headings, rows(), "`located_source` of the sets of the grid, 6 km/s, slack 0.5 s")


def distance_km(one: Place, other: Place) -> float:
    pair = Places.of([EarthPlace(*each.coordinates[:2]) for each in (one, other)])
    return float(pair.distance_m(0, 1)) / 1000


BENCHMARKS = [
    Benchmark(
        "events_found",
        "which sets of picks are events, by how places are used",
        [events_found, places_found],
        why_not=why_absent,
    )
]
