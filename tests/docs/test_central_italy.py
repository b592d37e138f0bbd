"""The tables of pairs on docs/explanation/earthquake-morning.md say what comes out."""

from __future__ import annotations

import re

import pytest

from docs.generate import ROOT
from docs.pictures import numbers_in, rounded
from docs.studies.pairs import (
    PICTURED_S,
    WINDOWS_S,
    Competitor,
    Curves,
    best_settings,
    by_window_and_threshold,
    measured,
    numbers,
)
from tests.reference import central_italy

pytestmark = pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
PAGE = (ROOT / "docs/explanation/earthquake-morning.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Pairs: ")[1].split("\n## ")[0]


def is_held(competitor: Competitor) -> bool:
    return competitor.window_s in (None, PICTURED_S)  # all windows would take 5 s


@pytest.fixture(scope="module")
def curves() -> Curves:
    return measured(is_held)


def test_the_best_settings_are_the_pages(curves: Curves) -> None:
    rows = re.findall(r"^\| (?:F1|precision, recall ≥ .*?) \| .*$", SECTION, re.MULTILINE)
    assert list(best_settings(curves)) == rows


def test_a_window_at_each_threshold_is_the_pages(curves: Curves) -> None:
    rows = re.findall(r"^\| ±.*$", SECTION, re.MULTILINE)
    assert list(by_window_and_threshold(curves)) == rows[:1]
    assert len(rows) == len(WINDOWS_S)


def test_the_picture_shows_them_as_they_do(curves: Curves) -> None:
    shown, now = numbers_in(ROOT / "docs/explanation/earthquake-morning/pairs.svg"), rounded(numbers(curves))
    assert len(now) == 4
    for name, values in now.items():
        assert shown[name] == pytest.approx(values, abs=1e-5), name
