"""Matches of the Central Italy morning coalesced into earthquakes: how many, when, and of which picks.

`python -m benchmarks.central_italy_episodes [--picture FILE.svg]`: P picks of at least 4 of 12 stations, as
`central_italy_events` joins them. Many matches are of one earthquake: those whose intervals touch, or lie at most a gap
apart, become one episode. The interval of a match is the central 90 % of when it occurred, or its hull, all times that
any member allows; of exact picks, moved by the mean delay of their station or not, from the first to the last.

Setting and gap of each way are those with the best F1 in the first half of the morning; measured in the second. An
episode belongs to a labelled event if more than half of its picks do. `COINCIDE_DATA` names the folder that holds
central-italy-2016 (see tests/reference/central_italy.py).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.central_italy_events import CONSTANT, OURS, POINT, SETTINGS, Morning, named
from benchmarks.central_italy_matches import Matches
from benchmarks.central_italy_picks import Pick, load_picks, origin_seconds
from benchmarks.central_italy_sets import events_of, maximal_sets, wanted_events
from coincide import Runs
from docs.pictures import Numbers, figure, numbers_in, save
from tests.reference.central_italy import MIDNIGHT_US, why_absent

GAPS_S = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
SHOWN_S = (9.5 * 3600, 9.5 * 3600 + 600)

Setting = tuple[float, float]


class Way(NamedTuple):
    """A way to join, and which interval of a match is coalesced."""

    name: str
    join: str
    hull: bool


WAYS = (
    Way("exact picks", POINT, hull=True),
    Way("exact picks, a constant a station", CONSTANT, hull=True),
    Way("templates, hull", OURS, hull=True),
    Way("templates, occurred", OURS, hull=False),
)


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


def matches_of(morning: Morning, join: str, setting: Setting, *, early: bool) -> tuple[Matches, list[Pick]]:
    """Join the P picks of half a morning."""
    picks = morning.half("P", early=early)
    sets = maximal_sets(picks, morning.stations, morning.templates[join], *setting)
    return Matches.of(
        sets, picks, {of: morning.templates[join][of] for of in morning.templates[join]}, setting[0]
    ), picks


def coalesced(matches: Matches, picks: Sequence[Pick], gap_s: float, *, hull: bool) -> Episodes:
    """Make episodes of matches."""
    runs, of_run = matches.episodes(gap_s, hull=hull)
    members = [frozenset(row for at in each for row in matches.sets[at]) for each in of_run]
    return Episodes(runs, members, [int(matches.mean_us[each[0]]) for each in of_run], picks)


def chosen(morning: Morning) -> dict[str, tuple[Setting, float]]:
    """Return setting and gap of each way, as the first half prefers them; of equals the first."""
    origins_s, best = origin_seconds(), dict[str, tuple[float, Setting, float]]()
    for join in SETTINGS:
        for setting in SETTINGS[join]:
            matches, picks = matches_of(morning, join, setting, early=True)
            for way in (way for way in WAYS if way.join == join):
                for gap_s in GAPS_S:
                    worth = f1(coalesced(matches, picks, gap_s, hull=way.hull).figures(origins_s))
                    if way.name not in best or worth > best[way.name][0]:
                        best[way.name] = worth, setting, gap_s
    return {name: (setting, gap_s) for name, (_, setting, gap_s) in best.items()}


def measured(morning: Morning, settings: Mapping[str, tuple[Setting, float]]) -> dict[str, list[float]]:
    """Return the second half's figures of each way, its setting first, and the episodes and origins that are drawn."""
    origins_s, numbers = origin_seconds(), dict[str, list[float]]()
    for way in WAYS:
        setting, gap_s = settings[way.name]
        matches, picks = matches_of(morning, way.join, setting, early=False)
        episodes = coalesced(matches, picks, gap_s, hull=way.hull)
        numbers[way.name] = [*setting, gap_s, len(matches.sets), *episodes.figures(origins_s)]
        numbers[f"{way.name}: shown"] = shown(episodes)
        errors_s = [
            (episodes.time_us[at] - MIDNIGHT_US) / 1e6 - origins_s[event] for event, at in episodes.found.items()
        ]
        numbers[f"{way.name}: errors"] = sorted(errors_s)
    wanted = wanted_events(morning.half("P", early=False))
    numbers["origins"] = sorted(origins_s[event] for event in wanted if SHOWN_S[0] <= origins_s[event] < SHOWN_S[1])
    return numbers


def shown(episodes: Episodes) -> list[float]:
    """Return start, end, and whether it belongs to an event, of each episode in the stretch that is drawn."""
    rows = zip(episodes.runs.start_us.tolist(), episodes.runs.end_us.tolist(), episodes.events, strict=True)
    seconds = [((start - MIDNIGHT_US) / 1e6, (end - MIDNIGHT_US) / 1e6, float(bool(of))) for start, end, of in rows]
    return [value for row in seconds if SHOWN_S[0] <= row[0] < SHOWN_S[1] for value in row]


def rows(numbers: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield a row of the table for each way."""
    for way in WAYS:
        window_s, threshold, gap_s, matches, episodes, *of = numbers[way.name]
        precision, recall, typical_s, longest_s, error_s, large_s, complete, pure = of
        cells = [way.name, f"{named((window_s, threshold))}, gap {gap_s:g} s", f"{matches:.0f}", f"{episodes:.0f}"]
        cells += [f"{precision:.3f}", f"{recall:.3f}", f"{typical_s:.1f}, {longest_s:.1f}"]
        cells += [f"{error_s:.2f}, {large_s:.2f}", f"{complete:.2f}", f"{pure:.2f}"]
        yield f"| {' | '.join(cells)} |"


HEAD = (
    "| way | best in the first half | matches | episodes | precision | recall | length s: median, longest "
    "| timing error s: median, 90 % | picks found | picks right |"
)


def draw(numbers: Numbers, path: Path) -> None:
    """Draw ten minutes of episodes above the labelled events, and how far their times are off."""
    kept = {name: list(values) for name, values in numbers.items()}
    fig, (left, right) = figure(9.6, 2.8, 1, 2)
    for level, way in enumerate(reversed(WAYS)):
        _draw_episodes(left, kept[f"{way.name}: shown"], level)
    left.plot([at - SHOWN_S[0] for at in kept["origins"]], [-1] * len(kept["origins"]), "k|", markersize=9)
    left.set(yticks=range(-1, len(WAYS)), yticklabels=["labelled events", *(way.name for way in reversed(WAYS))])
    left.set(xlabel="s", xlim=(0, SHOWN_S[1] - SHOWN_S[0]), ylim=(-1.6, len(WAYS) - 0.4))
    for way, colour in zip(WAYS[1:], ("C2", "C1", "C3"), strict=True):
        errors_s = kept[f"{way.name}: errors"]
        right.step(
            errors_s, np.arange(1, len(errors_s) + 1) / len(errors_s), color=colour, label=way.name, where="post"
        )
    right.axvline(0, color="0.8", linewidth=1, zorder=0)
    right.set(xlabel="time of the episode − origin, s", ylabel="share of the events found", xlim=(-3, 5), ylim=(0, 1))
    right.legend(loc="lower right", fontsize=8)
    save(fig, path, kept)


def _draw_episodes(ax: Any, flat: Sequence[float], level: int) -> None:
    for start_s, end_s, belongs in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
        at_s = [start_s - SHOWN_S[0], end_s - SHOWN_S[0]]
        ax.plot(at_s, [level, level], color="C3" if belongs else "0.6", linewidth=7, solid_capstyle="butt")


def main() -> None:
    """Print the table; draw the picture if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="where to draw episodes and errors")
    parser.add_argument("--again", action="store_true", help="draw with the numbers that the picture has")
    arguments = parser.parse_args()
    if reason := why_absent():
        print(f"skipped: {reason}")
        return
    if arguments.again:
        numbers = numbers_in(arguments.picture)
    else:
        morning = Morning(load_picks())
        numbers = measured(morning, chosen(morning))
    print(HEAD + "\n" + "|---" * HEAD.count(" | ") + "|---|")
    print(*rows(numbers), sep="\n")
    if arguments.picture:
        draw(numbers, arguments.picture)


if __name__ == "__main__":
    main()
