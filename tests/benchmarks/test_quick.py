"""Every benchmark that starts no service makes its tables at the quick size; peers, where installed, agree with us."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import parse, show
from benchmarks.harness.declaration import Benchmark, Options
from benchmarks.registry import BENCHMARKS

pytestmark = pytest.mark.slow

CHEAP = [benchmark for benchmark in BENCHMARKS.values() if not (benchmark.is_service or benchmark.name == "figures")]
#: Those that take more than three seconds of a processor even so; of each kind one that takes less is in the check.
DEAR = {
    "central_italy_events",
    "central_italy_evidence",
    "central_italy_learning",
    "central_italy_precision",
    "coalescing_schemes",
    "events_found",
    "source_regions",
    "stored_matches",
    "what_if",
    "window_join",
}


def at_night(benchmark: Benchmark) -> Any:
    return pytest.param(benchmark, id=benchmark.name, marks=[pytest.mark.night] * (benchmark.name in DEAR))


@pytest.mark.parametrize("benchmark", [at_night(benchmark) for benchmark in CHEAP])
def test_tables_come_out(benchmark: Benchmark) -> None:
    if reason := benchmark.why_not():
        pytest.skip(reason)
    for table in benchmark.tables(Options(quick=True)):
        lines = list(table.lines())[bool(table.title) :]
        assert len(lines) > 2
        assert lines[1].count("|") == lines[0].count("|")
        assert {line.count(" | ") for line in lines[2:]} == {lines[0].count(" | ")}


def test_those_for_the_night_are_there() -> None:
    assert {benchmark.name for benchmark in CHEAP} > DEAR


def test_a_benchmark_is_printed_with_what_it_ran_on(capsys: pytest.CaptureFixture[str]) -> None:
    show(BENCHMARKS["coalescing_costs"], Options(quick=True))
    printed = capsys.readouterr().out
    assert printed.startswith("## coalescing_costs: ")
    assert "numpy" in printed.splitlines()[-2]


def test_all_are_meant_where_none_is_named() -> None:
    assert parse([], BENCHMARKS) == ([*BENCHMARKS], Options())


def test_options_say_what_competes_and_how_long() -> None:
    words = ["timing_join", "--peers", "duckdb,spark", "--rounds", "3", "--picture", "a.svg"]
    wanted = Options(peers=["duckdb", "spark"], rounds=3, picture=Path("a.svg"))
    assert parse(words, BENCHMARKS) == (["timing_join"], wanted)


@pytest.mark.parametrize("words", [["timing_joins"], ["timing_join", "--peers", "duck"]])
def test_a_name_that_nothing_has_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(words, BENCHMARKS)
    assert f"unknown: {words[-1]}" in capsys.readouterr().err
