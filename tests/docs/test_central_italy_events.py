"""The tables and the picture of sets on docs/explanation/earthquake-morning.md agree and say what comes out."""

from __future__ import annotations

import re

import pytest

from docs.generate import ROOT
from docs.pictures import numbers_in
from docs.studies.events import (
    AIMS,
    OURS,
    POINT,
    SETTINGS,
    SHOWN_THRESHOLDS,
    WINDOW_S,
    Morning,
    best,
    best_settings,
    counts,
    curve,
    named,
)
from docs.studies.picks import Pick, load_picks
from docs.studies.sets import Tally, alarms
from tests.reference import central_italy

PAGE = (ROOT / "docs/explanation/earthquake-morning.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Sets: ")[1].split("\n## ")[0]
SHOWN = numbers_in(ROOT / "docs/explanation/earthquake-morning/events.svg")
needs_data = pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))


@pytest.fixture(scope="module")
def morning() -> Morning:
    return Morning(load_picks())


def test_the_table_shows_what_the_picture_does() -> None:
    assert list(best_settings(SHOWN)) == re.findall(r"^\| (?:P|P and S) \| .*$", SECTION, re.MULTILINE)


def test_the_table_of_windows_shows_what_the_picture_does() -> None:
    [row] = re.findall(rf"^\| ±{WINDOW_S:g} s \| (.*) \|$", SECTION, re.MULTILINE)
    cells = dict(zip(SHOWN_THRESHOLDS, row.split(" | "), strict=True))
    late = {name: counted for name, _, counted in curve(SHOWN, "P", OURS)}
    for threshold in (0.1, 0.2):
        _, _, precision, recall = late[named((WINDOW_S, threshold))]
        assert cells[threshold] == f"{precision:.2f} / {recall:.2f}"


@needs_data
@pytest.mark.parametrize("join", [POINT, OURS])
def test_the_best_setting_finds_what_is_shown(morning: Morning, join: str) -> None:
    name, _, late = best(curve(SHOWN, "P", join), AIMS[0])
    [setting] = [each for each in SETTINGS[join] if named(each) == name]
    assert counts(morning.tally("P", join, setting)) == pytest.approx(late, rel=1e-5)


def test_of_sets_that_share_a_pick_the_largest_is_the_alarm() -> None:
    assert alarms([(0, 1, 2, 3), (2, 3, 4, 5, 6), (7, 8, 9, 10), (0, 1, 11, 12)]) == [
        (2, 3, 4, 5, 6),
        (0, 1, 11, 12),
        (7, 8, 9, 10),
    ]


def test_an_alarm_belongs_to_the_event_of_most_of_its_picks() -> None:
    events = ["1", "1", "1", "", "1", "2", "2", ""]
    picks = [Pick((f"S{at % 5}", "P"), float(at), frozenset({name} - {""})) for at, name in enumerate(events)]
    found = Tally.of([(0, 1, 2, 3), (4, 5, 6, 7)], picks)
    assert found == Tally(sets=2, alarms=2, right=1, wanted=1, events=1)
