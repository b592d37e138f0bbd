"""Matches as intervals, when their earthquake may have begun; and episodes, which coalesce them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide import Runs, Window, coalesce
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.probability.onset_columns import occurrence_columns
from docs.studies.picks import Pick, Templates
from docs.studies.sets import PickSet, events_of, findable_events
from tests.reference.central_italy import MIDNIGHT_US


@dataclass(frozen=True)
class Matches:
    """Sets of picks with, for each, when it occurred.

    Attributes
    ----------
    sets : sequence of PickSet
    earliest_us, latest_us : ndarray of int64
        The hull: from the earliest to the latest time that any member allows.
    p05_us, p95_us, mean_us : ndarray of int64
        The central 90 % of the onset and its mean. Exact times have no such distribution: first, last and mean member.
    probability : ndarray of float64
    """

    sets: Sequence[PickSet]
    earliest_us: Int64Array
    latest_us: Int64Array
    p05_us: Int64Array
    p95_us: Int64Array
    mean_us: Int64Array
    probability: FloatArray

    @classmethod
    def of(cls, sets: Sequence[PickSet], picks: Sequence[Pick], templates: Templates, window_s: float) -> Matches:
        """Work out the times; sets of one size at a time."""
        sources = sorted(templates)
        index = np.array([sources.index(pick.source) for pick in picks])
        at_us = np.array([MIDNIGHT_US + round(pick.second * 1e6) for pick in picks])
        ends_us = [[round(end * 1e6) for end in (templates[of].earliest_s, templates[of].latest_s)] for of in sources]
        first_us, last_us = at_us + np.array(ends_us).T[:, index]
        by_size = sorted({len(members) for members in sets})
        ordered: list[PickSet] = [members for size in by_size for members in sets if len(members) == size]
        times = []
        for size in by_size:
            rows = np.array([members for members in sets if len(members) == size]).T
            hull = first_us[rows].min(axis=0), last_us[rows].max(axis=0)
            if np.array_equal(first_us, last_us):
                times.append((*hull, *hull, first_us[rows].mean(axis=0), np.ones(rows.shape[1])))
            else:
                when = occurrence_columns(
                    [[templates[of] for of in sources]] * size, index[rows], at_us[rows], Window(window_s)
                )
                times.append((*hull, when.p05_us, when.p95_us, when.mean_us, when.probability))
        *hulls_and_times, probability = (np.concatenate(column) for column in zip(*times, strict=True))
        earliest_us, latest_us, p05_us, p95_us, mean_us = (column.astype(np.int64) for column in hulls_and_times)
        return cls(ordered, earliest_us, latest_us, p05_us, p95_us, mean_us, probability)

    def episodes(self, gap_s: float, *, hull: bool = False) -> tuple[Runs, list[list[int]]]:
        """Coalesce the intervals; return the runs, and which matches each is made of, the best first.

        The best match has the most members, then the highest probability. Intervals are closed, runs half open.
        """
        start_us, end_us = (self.earliest_us, self.latest_us) if hull else (self.p05_us, self.p95_us)
        runs = coalesce(start_us, end_us + 1, gap_us=round(gap_s * 1e6))
        run_of: npt.NDArray[np.intp] = np.searchsorted(runs.start_us, start_us, side="right") - 1
        best = sorted(range(len(self.sets)), key=lambda at: (-len(self.sets[at]), -self.probability[at], at))
        of_run: list[list[int]] = [[] for _ in range(len(runs))]
        for at in best:
            of_run[run_of[at]].append(at)
        return runs, of_run


@dataclass(frozen=True)
class Episodes:
    """Episodes of half a morning, and what the labels say about them."""

    runs: Runs
    picks: Sequence[frozenset[int]]  # of each episode
    time_us: Sequence[int]  # of its best match
    labelled: Sequence[Pick]

    @property
    def events(self) -> list[set[str]]:
        """The events that each belongs to: none, one, or two where picks have two labels."""
        return [events_of([self.labelled[row] for row in rows]) for rows in self.picks]

    @property
    def of_event(self) -> dict[str, int]:
        """For each event that should have an episode and has one, the episode with most of its picks."""
        findable, best = findable_events(self.labelled), dict[str, tuple[int, int]]()
        for at, events in enumerate(self.events):
            for event in events & findable:
                best[event] = max(best.get(event, (0, 0)), (self._shared(at, event), -at))
        return {event: -at for event, (_, at) in best.items()}

    def _shared(self, at: int, event: str) -> int:
        return sum(event in self.labelled[row].events for row in self.picks[at])

    def figures(self, origins_s: Mapping[str, float]) -> list[float]:
        """Return what the table shows, from the number of episodes on."""
        of_event, belong = self.of_event, [bool(events) for events in self.events]
        length_s = (self.runs.end_us - self.runs.start_us) / 1e6
        error_s = [abs((self.time_us[at] - MIDNIGHT_US) / 1e6 - origins_s[event]) for event, at in of_event.items()]
        picks = Counter(event for pick in self.labelled for event in pick.events)
        shared = {event: self._shared(at, event) for event, at in of_event.items()}
        return [
            len(self.runs),
            sum(belong) / max(len(belong), 1),
            len(of_event) / len(findable_events(self.labelled)),
            float(np.median(length_s)),
            float(length_s.max()),
            float(np.median(error_s)),
            float(np.quantile(error_s, 0.9)),
            sum(shared.values()) / sum(picks[event] for event in of_event),
            sum(shared.values()) / sum(len(self.picks[at]) for at in of_event.values()),
        ]


def f1(figures: Sequence[float]) -> float:
    precision, recall = figures[1:3]
    return 2 * precision * recall / max(precision + recall, 1e-12)


def coalesced(matches: Matches, picks: Sequence[Pick], gap_s: float, *, hull: bool) -> Episodes:
    runs, of_run = matches.episodes(gap_s, hull=hull)
    members = [frozenset(row for at in each for row in matches.sets[at]) for each in of_run]
    return Episodes(runs, members, [int(matches.mean_us[each[0]]) for each in of_run], picks)
