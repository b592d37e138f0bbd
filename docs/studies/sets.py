"""Sets of picks of at least 4 of 12 stations that may be of one earthquake, and how many are of a labelled one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from coincide import ConstraintGraph, Detections, Window, window_join
from docs.studies.picks import HALF_S, Pick, Templates
from tests.reference.central_italy import MIDNIGHT_US

STATIONS, AT_LEAST = 12, 4

PickSet = tuple[int, ...]
"""Positions of picks, one of each station that has a part."""


def best_labelled(picks: Iterable[Pick]) -> list[str]:
    """Return the stations with the most P picks of the first half that have a label."""
    counts = Counter(pick.source[0] for pick in picks if pick.events and pick.source[1] == "P" and pick.second < HALF_S)
    return [station for station, _ in counts.most_common(STATIONS)]


def maximal_sets(
    picks: Sequence[Pick], stations: Sequence[str], templates: Templates, window_s: float, threshold: float
) -> list[PickSet]:
    """Return the sets that cannot grow of at least `AT_LEAST` picks, no two of one station, all near each other."""
    own = {station: [row for row, pick in enumerate(picks) if pick.source[0] == station] for station in stations}
    of_station = {station: _detections(picks, rows, templates) for station, rows in own.items()}
    graph = ConstraintGraph.clique(stations, Window(window_s), threshold)
    tuples = window_join(of_station, graph, at_least=AT_LEAST)
    rows = np.column_stack(
        [np.array([*own[station], -1])[at] for station, at in zip(stations, tuples.members.T, strict=True)]
    )
    return [tuple(row for row in members if row >= 0) for members in rows.tolist()]


def _detections(picks: Sequence[Pick], rows: Sequence[int], templates: Templates) -> Detections:
    sources = sorted({picks[row].source for row in rows})
    time_us = [MIDNIGHT_US + round(picks[row].second * 1e6) for row in rows]
    index = [sources.index(picks[row].source) for row in rows]
    return Detections(time_us, [templates[source] for source in sources], index)


def alarms(sets: Iterable[PickSet]) -> list[PickSet]:
    """Return one set for each earthquake: from the largest on (ties: the earliest), those whose picks are not taken.

    Maximal sets overlap: an earthquake that 8 stations see, two of them with a pick too many, makes four of them. A
    pick is of one earthquake only.
    """
    taken: set[int] = set()
    chosen = []
    for members in sorted(sets, key=lambda each: (-len(each), each)):
        if taken.isdisjoint(members):
            taken.update(members)
            chosen.append(members)
    return chosen


@dataclass(frozen=True)
class Tally:
    """What sets say about labelled events.

    Attributes
    ----------
    sets, alarms, right : int
        How many sets, how many alarms they make, and how many of those belong to an event: more than half of their
        picks do.
    findable, events : int
        How many events have labelled picks at enough stations, and how many of those some alarm belongs to.
    """

    sets: int
    alarms: int
    right: int
    findable: int
    events: int

    @property
    def precision(self) -> float:
        return self.right / max(self.alarms, 1)

    @property
    def recall(self) -> float:
        """Share of the events that an alarm belongs to."""
        return self.events / self.findable

    @classmethod
    def of(cls, sets: Sequence[PickSet], picks: Sequence[Pick]) -> Tally:
        raised = alarms(sets)
        named = [names for members in raised if (names := events_of([picks[row] for row in members]))]
        findable = findable_events(picks)
        return cls(len(sets), len(raised), len(named), len(findable), len(findable & set[str]().union(*named)))


def events_of(members: Sequence[Pick]) -> set[str]:
    """Return the event that more than half of the picks belong to: none, one, or two where picks have two labels."""
    votes = Counter(event for pick in members for event in pick.events)
    return {event for event, count in votes.items() if 2 * count > len(members)}


def findable_events(picks: Sequence[Pick]) -> set[str]:
    """Return the events with labelled picks of at least `AT_LEAST` stations."""
    stations: dict[str, set[str]] = defaultdict(set)
    for pick in picks:
        for event in pick.events:
            stations[event].add(pick.source[0])
    return {event for event, of in stations.items() if len(of) >= AT_LEAST}
