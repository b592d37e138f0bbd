"""The tables and the picture of episodes on docs/explanation/earthquake-morning.md say what comes out."""

from __future__ import annotations

import re

import numpy as np
import pytest

from coincide import Histogram
from docs.generate import ROOT
from docs.pictures import numbers_in
from docs.studies.episodes import GAPS_S, WAYS, chains, matches_of, measured, rows
from docs.studies.events import Morning
from docs.studies.matches import Matches, coalesced, f1
from docs.studies.picks import Pick, load_picks, origin_seconds
from tests.reference import central_italy

PAGE = (ROOT / "docs/explanation/earthquake-morning.md").read_text(encoding="utf-8")
SHOWN = numbers_in(ROOT / "docs/explanation/earthquake-morning/episodes.svg")
needs_data = pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))


@pytest.fixture(scope="module")
def morning() -> Morning:
    return Morning(load_picks())


def test_the_table_shows_what_the_picture_does() -> None:
    assert list(rows(SHOWN)) == re.findall(r"^\| (?:exact picks|templates)[^|]* \| ±.*$", PAGE, re.MULTILINE)


@needs_data
def test_the_second_half_is_as_shown(morning: Morning) -> None:
    settings = {way.name: ((SHOWN[way.name][0], SHOWN[way.name][1]), SHOWN[way.name][2]) for way in WAYS}
    now = measured(morning, settings)
    assert now.keys() == SHOWN.keys()
    for name, values in now.items():
        assert SHOWN[name] == pytest.approx(values, rel=1e-5, abs=1e-5), name


@needs_data
def test_the_first_half_prefers_the_gap_that_is_shown(morning: Morning) -> None:
    way = WAYS[-1]
    window_s, threshold, gap_s, *_ = SHOWN[way.name]
    matches, picks = matches_of(morning, way.join, (window_s, threshold), early=True)
    worth = [f1(coalesced(matches, picks, gap, hull=way.hull).figures(origin_seconds())) for gap in GAPS_S]
    assert GAPS_S[int(np.argmax(worth))] == gap_s


@needs_data
def test_pairs_of_any_two_stations_chain_as_shown() -> None:
    assert next(chains(thresholds=[0.09])) in PAGE


def picks_at(*seconds: float, events: str) -> list[Pick]:
    labels = [frozenset({name} - {"-"}) for name in events]
    return [Pick((f"S{at}", "P"), second, of) for at, (second, of) in enumerate(zip(seconds, labels, strict=True))]


def test_matches_whose_intervals_touch_are_one_episode_and_its_time_is_that_of_the_best() -> None:
    picks = picks_at(10, 11, 12, 13, 20, 21, events="aaaa-b")
    exact = {pick.source: Histogram.point() for pick in picks}
    matches = Matches.of([(0, 1), (1, 2, 3), (4, 5)], picks, exact, 1.0)
    episodes = coalesced(matches, picks, 0, hull=True)
    second = 1_000_000
    since = central_italy.MIDNIGHT_US
    assert ((episodes.runs.start_us - since) // second).tolist() == [10, 20]
    assert ((episodes.runs.end_us - since) // second).tolist() == [13, 21]
    assert list(map(set, episodes.picks)) == [{0, 1, 2, 3}, {4, 5}]
    assert [(time - since) / second for time in episodes.time_us] == [12, 20.5]
    assert episodes.events == [{"a"}, set()]  # half of the picks is not more than half
    assert len(coalesced(matches, picks, 7, hull=True).runs) == 1


def test_uncertain_matches_occurred_within_their_hull() -> None:
    picks = picks_at(10, 10.5, events="aa")
    spread = {pick.source: Histogram.uniform(-3, -1) for pick in picks}
    [match] = [Matches.of([(0, 1)], picks, spread, 1.0)]
    since = central_italy.MIDNIGHT_US
    times_s = [(column[0] - since) / 1e6 for column in (match.earliest_us, match.p05_us, match.mean_us, match.p95_us)]
    assert times_s == sorted(times_s)
    assert times_s[0] == 7
    assert match.latest_us[0] == since + 9_500_000
    assert match.p95_us[0] < match.latest_us[0]


def test_an_event_is_found_by_the_episode_that_has_most_of_its_picks() -> None:
    picks = picks_at(10, 11, 12, 13, 40, 41, 42, events="aaaaaaa")
    exact = {pick.source: Histogram.point() for pick in picks}
    episodes = coalesced(Matches.of([(0, 1, 2, 3), (4, 5, 6)], picks, exact, 5.0), picks, 0, hull=True)
    assert episodes.of_event == {"a": 0}
    number, precision, recall, *_, complete, right = episodes.figures({"a": 10.5})
    assert (number, precision, recall) == (2, 1, 1)
    assert (complete, right) == (4 / 7, 1)
