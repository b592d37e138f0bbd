"""docs/background/papers.md: its tables and its picture say what the algorithms count, its Python what it shows."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from coincide import timing_join
from coincide.arrays import range_expansion as expansion
from coincide.joins.probe_bounds import ProbeBounds
from coincide.papers.algorithms import TIMING_JOINS, WINDOW_JOINS, PaperAlgorithm
from docs.generate import ROOT
from docs.pictures import numbers_in
from docs.studies.window_join_work import UNIFORM, USUAL, WIDE, works
from docs.studies.work import HOURS, STATIONS, curves
from tests.docs.sessions import blocks, defined_by, needs_data
from tests.reference.recorded_streams import long_recording

PATH = ROOT / "docs/background/papers.md"
PAGE = PATH.read_text(encoding="utf-8")
TIMING, WINDOW = (PAGE.split(f"\n## {kind} joins\n")[1].split("\n## ")[0] for kind in ("Timing", "Window"))


def shown(section: str, name: str) -> list[str]:
    """Return the cells of the algorithm's row."""
    row = re.search(rf"^\| (`{name}` \| .*) \|$", section, re.MULTILINE)
    assert row is not None, f"{name} has no row"
    return row[1].split(" | ")


def test_the_timing_joins_run_as_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    [block] = blocks(TIMING, "python")
    names: dict[str, Any] = {}
    exec(block, names)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    pairs = len(timing_join(names["a"], names["b"], names["window"], names["threshold"], sensors="any"))
    assert [name for name, *_ in lines] == [each.name for each in TIMING_JOINS if not each.uniform_templates_only]
    assert {int(count) for _, count, _ in lines} == {pairs}
    assert pairs > 0


@pytest.mark.parametrize("algorithm", TIMING_JOINS, ids=lambda algorithm: algorithm.name)
def test_timing_joins_count_what_is_shown(algorithm: PaperAlgorithm) -> None:
    result = algorithm.run(*long_recording().question)
    work = result.work
    counts = [f"{count:,}" for count in (work.scanned, work.probabilities, work.lookups, work.buffered)]
    assert shown(TIMING, algorithm.name)[-4:] == counts
    assert f"{len(result.members):,} pairs" in TIMING


def test_our_own_timing_join_counts_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    streams, scanned, looked_up = long_recording(), [], []
    monkeypatch.setattr(expansion, "expanded", counted(expansion.expanded, lambda rows: scanned.append(len(rows[0]))))
    monkeypatch.setattr(ProbeBounds, "qualify", counted(ProbeBounds.qualify, lambda rows: looked_up.append(len(rows))))
    timing_join(streams.a, streams.b, streams.window, streams.threshold, sensors="any")
    counts = (sum(scanned), 0, sum(looked_up), len(streams.a) + len(streams.b))
    assert shown(TIMING, "timing_join")[-4:] == [*(f"{count:,}" for count in counts[:3]), f"{counts[3]}"]


def counted(function: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        result = function(*args)
        note(result)
        return result

    return call


@pytest.mark.parametrize("algorithm", WINDOW_JOINS, ids=lambda algorithm: algorithm.name)
def test_window_joins_count_what_is_shown(algorithm: PaperAlgorithm) -> None:
    setting = USUAL if algorithm.name in UNIFORM else replace(WIDE, wide_s=2.0)
    work = works(setting, [algorithm.name])[algorithm.name]
    counts = [f"{count:,}" for count in (work.scanned, work.windows_tested, work.predicates, work.buffered)]
    assert shown(WINDOW, algorithm.name)[-5:] == [*counts, f"{work.longest_wait_us / 1e6:.2f} s"]


def test_the_python_of_window_joins_says_what_it_shows() -> None:
    defined_by(WINDOW, PATH, 6)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("stations", STATIONS)
def test_the_whole_italian_morning_is_as_shown(stations: int) -> None:
    picture, now = numbers_in(ROOT / "docs/background/papers/central-italy-work.svg"), curves(stations, hours=[HOURS])
    columns = ("results", *UNIFORM, "longest wait of FEW, s")
    assert now.keys() == set(columns)
    for name, [last] in now.items():
        assert picture[f"{stations} stations: {name}"][-1] == pytest.approx(last, rel=1e-5), name
    assert f"| {stations} | {' | '.join(f'{now[name][0]:,.0f}' for name in columns)} |" in PAGE
