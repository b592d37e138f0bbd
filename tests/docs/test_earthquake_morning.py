"""The tables and the pictures of docs/background/earthquake-morning.md agree and say what comes out."""

import re

import numpy as np
import pytest

from coincide import Histogram
from docs.generate import ROOT
from docs.pictures import numbers_in, rounded
from docs.studies import events, pairs
from docs.studies.episodes import GAPS_S, WAYS, chains, matches_of, measured, rows
from docs.studies.events import OURS, POINT, Morning, curve, named
from docs.studies.matches import Matches, coalesced, f1
from docs.studies.picks import Pick, load_picks, origin_seconds
from docs.studies.sets import Tally, alarms
from tests.docs.sessions import needs_data
from tests.reference import central_italy

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/background/earthquake-morning.md").read_text(encoding="utf-8")
PAIRS, SETS = (PAGE.split(f"\n## {name}: ")[1].split("\n## ")[0] for name in ("Pairs", "Sets"))
OF_PAIRS, OF_SETS, OF_EPISODES = (
    numbers_in(ROOT / f"docs/background/earthquake-morning/{name}.svg") for name in ("pairs", "events", "episodes")
)


@pytest.fixture(scope="module")
def morning() -> Morning:
    return Morning(load_picks())


@pytest.fixture(scope="module")
def curves() -> pairs.Curves:
    return pairs.measured(lambda competitor: competitor.window_s in (None, pairs.PICTURED_S))  # all would take 5 s


@needs_data
def test_the_best_settings_of_pairs_are_the_pages(curves: pairs.Curves) -> None:
    shown = re.findall(r"^\| (?:F1|precision, recall ≥ .*?) \| .*$", PAIRS, re.MULTILINE)
    assert list(pairs.best_settings(curves)) == shown


@needs_data
def test_a_window_at_each_threshold_is_the_pages(curves: pairs.Curves) -> None:
    shown = re.findall(r"^\| ±.*$", PAIRS, re.MULTILINE)
    assert list(pairs.by_window_and_threshold(curves)) == shown[:1]
    assert len(shown) == len(pairs.WINDOWS_S)


@needs_data
def test_the_picture_shows_pairs_as_they_do(curves: pairs.Curves) -> None:
    now = rounded(pairs.numbers(curves))
    assert len(now) == 4
    for name, values in now.items():
        assert OF_PAIRS[name] == pytest.approx(values, abs=1e-5), name


def test_the_table_of_sets_shows_what_the_picture_does() -> None:
    assert list(events.best_settings(OF_SETS)) == re.findall(r"^\| (?:P|P and S) \| .*$", SETS, re.MULTILINE)


def test_the_table_of_windows_shows_what_the_picture_does() -> None:
    [row] = re.findall(rf"^\| ±{events.WINDOW_S:g} s \| (.*) \|$", SETS, re.MULTILINE)
    cells = dict(zip(events.SHOWN_THRESHOLDS, row.split(" | "), strict=True))
    late = {name: counted for name, _, counted in curve(OF_SETS, "P", OURS)}
    for threshold in (0.1, 0.2):
        _, _, precision, recall = late[named((events.WINDOW_S, threshold))]
        assert cells[threshold] == f"{precision:.2f} / {recall:.2f}"


@needs_data
@pytest.mark.parametrize("join", [POINT, OURS])
def test_the_best_setting_finds_what_is_shown(morning: Morning, join: str) -> None:
    name, _, late = events.best(curve(OF_SETS, "P", join), events.AIMS[0])
    [setting] = [each for each in events.SETTINGS[join] if named(each) == name]
    assert events.counts(morning.tally("P", join, setting)) == pytest.approx(late, rel=1e-5)


def test_of_sets_that_share_a_pick_the_largest_is_the_alarm() -> None:
    sets = [(0, 1, 2, 3), (2, 3, 4, 5, 6), (7, 8, 9, 10), (0, 1, 11, 12)]
    assert alarms(sets) == [(2, 3, 4, 5, 6), (0, 1, 11, 12), (7, 8, 9, 10)]


def test_an_alarm_belongs_to_the_event_of_most_of_its_picks() -> None:
    of_events = ["1", "1", "1", "", "1", "2", "2", ""]
    picks = [Pick((f"S{at % 5}", "P"), float(at), frozenset({name} - {""})) for at, name in enumerate(of_events)]
    assert Tally.of([(0, 1, 2, 3), (4, 5, 6, 7)], picks) == Tally(sets=2, alarms=2, right=1, findable=1, events=1)


def test_the_table_of_episodes_shows_what_the_picture_does() -> None:
    assert list(rows(OF_EPISODES)) == re.findall(r"^\| (?:exact picks|templates)[^|]* \| ±.*$", PAGE, re.MULTILINE)


@needs_data
def test_the_second_half_is_as_shown(morning: Morning) -> None:
    settings = {
        way.name: ((OF_EPISODES[way.name][0], OF_EPISODES[way.name][1]), OF_EPISODES[way.name][2]) for way in WAYS
    }
    now = measured(morning, settings)
    assert now.keys() == OF_EPISODES.keys()
    for name, values in now.items():
        assert OF_EPISODES[name] == pytest.approx(values, rel=1e-5, abs=1e-5), name


@needs_data
def test_the_first_half_prefers_the_gap_that_is_shown(morning: Morning) -> None:
    way = WAYS[-1]
    window_s, threshold, gap_s, *_ = OF_EPISODES[way.name]
    matches, picks = matches_of(morning, way.join, (window_s, threshold), early=True)
    worth = [f1(coalesced(matches, picks, gap, hull=way.hull).figures(origin_seconds())) for gap in GAPS_S]
    assert GAPS_S[int(np.argmax(worth))] == gap_s


@needs_data
def test_pairs_of_any_two_stations_chain_as_shown() -> None:
    assert next(chains(thresholds=[0.09])) in PAGE


def picks_at(*seconds: float, of: str) -> list[Pick]:
    labels = [frozenset({name} - {"-"}) for name in of]
    return [
        Pick((f"S{at}", "P"), second, label) for at, (second, label) in enumerate(zip(seconds, labels, strict=True))
    ]


def test_matches_whose_intervals_touch_are_one_episode_and_its_time_is_that_of_the_best() -> None:
    picks = picks_at(10, 11, 12, 13, 20, 21, of="aaaa-b")
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
    picks = picks_at(10, 10.5, of="aa")
    spread = {pick.source: Histogram.uniform(-3, -1) for pick in picks}
    [match] = [Matches.of([(0, 1)], picks, spread, 1.0)]
    since = central_italy.MIDNIGHT_US
    times_s = [(column[0] - since) / 1e6 for column in (match.earliest_us, match.p05_us, match.mean_us, match.p95_us)]
    assert times_s == sorted(times_s)
    assert times_s[0] == 7
    assert match.latest_us[0] == since + 9_500_000
    assert match.p95_us[0] < match.latest_us[0]


def test_an_event_is_found_by_the_episode_that_has_most_of_its_picks() -> None:
    picks = picks_at(10, 11, 12, 13, 40, 41, 42, of="aaaaaaa")
    exact = {pick.source: Histogram.point() for pick in picks}
    episodes = coalesced(Matches.of([(0, 1, 2, 3), (4, 5, 6)], picks, exact, 5.0), picks, 0, hull=True)
    assert episodes.of_event == {"a": 0}
    number, precision, recall, *_, complete, right = episodes.figures({"a": 10.5})
    assert (number, precision, recall) == (2, 1, 1)
    assert (complete, right) == (4 / 7, 1)
