"""Episodes of the Central Italy morning, and what the labels say about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.central_italy_matches import Matches
from benchmarks.central_italy_picks import Pick
from benchmarks.central_italy_sets import events_of, wanted_events
from coincide import Runs
from tests.reference.central_italy import MIDNIGHT_US


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
    def found(self) -> dict[str, int]:
        """For each event that should be found and is, the episode with most of its picks."""
        wanted, best = wanted_events(self.labelled), dict[str, tuple[int, int]]()
        for at, events in enumerate(self.events):
            for event in events & wanted:
                best[event] = max(best.get(event, (0, 0)), (self._shared(at, event), -at))
        return {event: -at for event, (_, at) in best.items()}

    def _shared(self, at: int, event: str) -> int:
        return sum(event in self.labelled[row].events for row in self.picks[at])

    def figures(self, origins_s: Mapping[str, float]) -> list[float]:
        """Return what the table shows, from the number of episodes on."""
        found, belong = self.found, [bool(events) for events in self.events]
        length_s = (self.runs.end_us - self.runs.start_us) / 1e6
        error_s = [abs((self.time_us[at] - MIDNIGHT_US) / 1e6 - origins_s[event]) for event, at in found.items()]
        picks = Counter(event for pick in self.labelled for event in pick.events)
        shared = {event: self._shared(at, event) for event, at in found.items()}
        return [
            len(self.runs),
            sum(belong) / max(len(belong), 1),
            len(found) / len(wanted_events(self.labelled)),
            float(np.median(length_s)),
            float(length_s.max()),
            float(np.median(error_s)),
            float(np.quantile(error_s, 0.9)),
            sum(shared.values()) / sum(picks[event] for event in found),
            sum(shared.values()) / sum(len(self.picks[at]) for at in found.values()),
        ]


def f1(figures: Sequence[float]) -> float:
    """Return what the first half is asked for."""
    precision, recall = figures[1:3]
    return 2 * precision * recall / max(precision + recall, 1e-12)


def coalesced(matches: Matches, picks: Sequence[Pick], gap_s: float, *, hull: bool) -> Episodes:
    """Make episodes of matches."""
    runs, of_run = matches.episodes(gap_s, hull=hull)
    members = [frozenset(row for at in each for row in matches.sets[at]) for each in of_run]
    return Episodes(runs, members, [int(matches.mean_us[each[0]]) for each in of_run], picks)
