"""Matches of the morning coalesced into earthquakes: how many, when, and of which picks.

P picks of at least 4 of 12 stations are joined as `events` joins them. Many matches are of one earthquake: those whose
intervals touch, or lie at most a gap apart, become one episode. The interval of a match is the central 90 % of when it
occurred, or its hull, all times that any member allows; of exact picks, moved by the mean delay of their station or
not, from the first to the last. Setting and gap of each way are those with the best F1 in the first half. An episode
belongs to a labelled event if more than half of its picks do. `--picture FILE.svg` draws episodes and errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Window, timing_join
from docs.pictures import Numbers, figure, numbers_in, save
from docs.pictures.style import GREEN, ORANGE, RED
from docs.studies.events import CONSTANT, OURS, POINT, SETTINGS, Morning, named
from docs.studies.matches import Episodes, Matches, coalesced, f1
from docs.studies.picks import (
    HALF_S,
    Half,
    Pick,
    delays_of_first_half,
    learnt,
    load_picks,
    origin_seconds,
)
from docs.studies.sets import findable_events, maximal_sets
from tests.reference.central_italy import MIDNIGHT_US, why_absent

GAPS_S = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
SHOWN_S = 180.0

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


def matches_of(morning: Morning, join: str, setting: Setting, *, early: bool) -> tuple[Matches, list[Pick]]:
    picks = morning.half("P", early=early)
    sets = maximal_sets(picks, morning.stations, morning.templates[join], *setting)
    return Matches.of(sets, picks, morning.templates[join], setting[0]), picks


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
    findable_s = sorted(origins_s[event] for event in findable_events(morning.half("P", early=False)))
    begin_s = busiest(findable_s)
    numbers["origins"] = [origin - begin_s for origin in findable_s if 0 <= origin - begin_s < SHOWN_S]
    for way in WAYS:
        setting, gap_s = settings[way.name]
        matches, picks = matches_of(morning, way.join, setting, early=False)
        episodes = coalesced(matches, picks, gap_s, hull=way.hull)
        numbers[way.name] = [*setting, gap_s, len(matches.sets), *episodes.figures(origins_s)]
        numbers[f"{way.name}: shown"] = shown(episodes, begin_s)
        found_us = {event: episodes.time_us[at] - MIDNIGHT_US for event, at in episodes.of_event.items()}
        numbers[f"{way.name}: errors"] = sorted(at_us / 1e6 - origins_s[event] for event, at_us in found_us.items())
    return numbers


def shown(episodes: Episodes, begin_s: float) -> list[float]:
    """Return start, end, and whether it belongs to an event, of each episode that starts in the stretch drawn."""
    rows = zip(episodes.runs.start_us.tolist(), episodes.runs.end_us.tolist(), episodes.events, strict=True)
    since_us = MIDNIGHT_US + round(begin_s * 1e6)
    seconds = [((start - since_us) / 1e6, (end - since_us) / 1e6, float(bool(of))) for start, end, of in rows]
    return [value for row in seconds if 0 <= row[0] < SHOWN_S for value in row]


def busiest(origins_s: Sequence[float]) -> float:
    """Return when the stretch with the most origins begins, 5 s before the first of them."""
    within = [sum(0 <= other - origin < SHOWN_S - 5 for other in origins_s) for origin in origins_s]
    return origins_s[int(np.argmax(within))] - 5


def rows(numbers: Mapping[str, Sequence[float]]) -> Iterator[str]:
    for way in WAYS:
        window_s, threshold, gap_s, matches, episodes, *of = numbers[way.name]
        precision, recall, typical_s, longest_s, error_s, large_s, complete, pure = of
        texts = [way.name, f"{named((window_s, threshold))}, gap {gap_s:g} s", f"{matches:.0f}", f"{episodes:.0f}"]
        texts += [f"{precision:.3f}", f"{recall:.3f}", f"{typical_s:.1f}, {longest_s:.1f}"]
        texts += [f"{error_s:.2f}, {large_s:.2f}", f"{complete:.2f}", f"{pure:.2f}"]
        yield f"| {' | '.join(texts)} |"


def chains(window_s: float = 0.25, thresholds: Sequence[float] = (0.04, 0.09)) -> Iterator[str]:
    """Yield a row for each threshold: pairs of any two of all stations, and what becomes of them by either interval.

    The settings are those of docs/background/earthquake-morning.md.
    """
    half = Half.of(pick for pick in load_picks() if pick.second >= HALF_S)
    templates = learnt(delays_of_first_half(), sorted({pick.source for pick in half.picks}))
    detections = half.detections(templates)
    for threshold in thresholds:
        pairs = timing_join(detections, None, Window(window_s), threshold)
        sets = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
        matches = Matches.of(sets, half.picks, templates, window_s)
        texts = [f"±{window_s:g} s, P ≥ {threshold:g}", f"{len(sets):,}"]
        for hull in (True, False):
            runs, _ = matches.episodes(0, hull=hull)
            length_s = (runs.end_us - runs.start_us) / 1e6
            texts += [f"{len(runs):,}", f"{np.median(length_s):.1f}, {length_s.max():.0f}"]
        yield f"| {' | '.join(texts)} |"


def draw(numbers: Numbers, path: Path) -> None:
    """Draw some minutes of episodes above the labelled events, and how far their times are off."""
    kept = {name: list(values) for name, values in numbers.items()}
    fig, (left, right) = figure(9.6, 2.8, 1, 2)
    for level, way in enumerate(reversed(WAYS)):
        _draw_episodes(left, kept[f"{way.name}: shown"], level)
    left.plot(kept["origins"], [-1] * len(kept["origins"]), "k|", markersize=9)
    left.set(yticks=range(-1, len(WAYS)), yticklabels=["labelled events", *(way.name for way in reversed(WAYS))])
    left.set(xlabel="s", xlim=(0, SHOWN_S), ylim=(-1.6, len(WAYS) - 0.4))
    for way, colour in zip(WAYS[1:], (GREEN, ORANGE, RED), strict=True):
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
        ax.plot([start_s, end_s], [level, level], color=RED if belongs else "0.6", linewidth=7, solid_capstyle="butt")


HEADINGS = (
    *("way", "best in the first half", "matches", "episodes", "precision", "recall"),
    *("length s: median, longest", "timing error s: median, 90 %", "picks found", "picks right"),
)
CHAINS = ("pairs of any two stations", "pairs", "hull: episodes", "length s", "occurred: episodes", "length s")


def tables(options: Options) -> Iterator[Table]:
    if not options.quick:
        if options.again and options.picture:
            numbers = numbers_in(options.picture)
        else:
            morning = Morning(load_picks())
            numbers = measured(morning, chosen(morning))
        yield Table(HEADINGS, rows(numbers))
        if options.picture:
            draw(numbers, options.picture)
    yield Table(CHAINS, chains(thresholds=(0.09,) if options.quick else (0.04, 0.09)))


BENCHMARKS = [
    Benchmark(
        "central_italy_episodes", "matches coalesced into earthquakes, by each interval", [tables], why_not=why_absent
    )
]
