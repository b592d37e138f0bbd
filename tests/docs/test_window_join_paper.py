"""The table of window joins on docs/explanation/papers.md says what they count, and its Python says what it shows."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from coincide.papers.algorithms import WINDOW_JOINS, PaperAlgorithm
from docs.generate import ROOT
from docs.studies.window_join_work import UNIFORM, USUAL, WIDE, Setting, works
from tests.docs.sessions import defined_by

PATH = ROOT / "docs/explanation/papers.md"
SECTION = PATH.read_text(encoding="utf-8").split("\n## Window joins\n")[1].split("\n## ")[0]


def shown_setting(algorithm: PaperAlgorithm) -> Setting:
    return USUAL if algorithm.name in UNIFORM else replace(WIDE, wide_s=2.0)


@pytest.mark.parametrize("algorithm", WINDOW_JOINS, ids=lambda algorithm: algorithm.name)
def test_counts_are_those_of_the_recording(algorithm: PaperAlgorithm) -> None:
    work = works(shown_setting(algorithm), [algorithm.name])[algorithm.name]
    counts = [f"{count:,}" for count in (work.scanned, work.windows_tested, work.predicates, work.buffered)]
    row = re.search(rf"^\| `{algorithm.name}` \|.*$", SECTION, re.MULTILINE)
    assert row is not None, f"{algorithm.name} has no row"
    assert row[0].rsplit(" | ", 5)[1:] == [*counts, f"{work.longest_wait_us / 1e6:.2f} s |"]


def test_the_python_shown_says_what_it_shows() -> None:
    defined_by(SECTION, PATH, 6)
