"""Stages are run, timed and judged."""

import sys
from itertools import count
from pathlib import Path

import psutil
import pytest

from tests.check.ledger import LEDGER, Phases, Run, budgets, read_ledger, read_run, run_file, write_run
from tests.check.runner import Outcome, busy_processes, is_well, keep, run_stages, summary
from tests.check.stages import SET_UP, Stage, check_stages, night_stages


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


GOOD, BAD = Stage("good", (python(""),)), Stage("bad", (python("raise SystemExit(3)"),))


@pytest.mark.parametrize(("keep_going", "names"), [(False, ["good", "bad"]), (True, ["good", "bad", "good"])])
def test_a_stage_that_fails_is_the_last_unless_all_shall_run(keep_going: bool, names: list[str]) -> None:
    ticks = map(float, count())
    outcomes = list(run_stages([GOOD, BAD, GOOD], keep_going=keep_going, clock=lambda: next(ticks)))
    assert [each.stage for each in outcomes] == names
    assert [each.is_passed for each in outcomes] == [name == "good" for name in names]
    assert {each.seconds for each in outcomes} == {1.0}


def test_commands_of_a_stage_run_beside_each_other_and_each_may_fail(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    waits = "import pathlib, time\nwhile not pathlib.Path({!r}).exists(): time.sleep(0.01)"
    meet = tmp_path / "here"
    both = Stage("both", (python(waits.format(str(meet))), python(f"open({str(meet)!r}, 'w'); print('beside')")))
    assert [each.is_passed for each in run_stages([both], keep_going=False)] == [True]
    assert "beside" in capfd.readouterr().out
    second_fails = Stage("second", (*GOOD.commands, *BAD.commands))
    assert [each.is_passed for each in run_stages([second_fails], keep_going=False)] == [False]


def test_a_load_ends_with_its_block() -> None:
    before = psutil.Process().children()
    with busy_processes(2):
        assert len(psutil.Process().children()) == len(before) + 2
    assert psutil.Process().children() == before


def test_what_a_stage_took_is_kept_beside_what_its_tests_took(tmp_path: Path) -> None:
    write_run(Run("tests", 5, {"tests/a.py": Phases(call=4)}), run_file("tests", tmp_path))
    keep(Outcome("tests", 7, is_passed=True), tmp_path)
    assert read_run(run_file("tests", tmp_path)) == Run("tests", 7, {"tests/a.py": Phases(call=4)})
    keep(Outcome("tests", 1, is_passed=False), tmp_path)
    assert read_run(run_file("tests", tmp_path)).seconds == 7


def test_growth_is_told_and_fails_where_it_may_not_be() -> None:
    grown, failed = Outcome("a", 112, is_passed=True), Outcome("b", 1, is_passed=False)
    lines = list(summary([grown, failed], {"a": 100}))
    assert lines[1].split() == ["a", "112", "100", "has", "grown", "over", "its", "budget"]
    assert lines[2].split() == ["b", "1", "-", "FAILED"]
    assert lines[3].split() == ["all", "113"]
    assert is_well([grown], {"a": 100}, may_grow=True)
    assert not is_well([grown], {"a": 100}, may_grow=False)
    assert not is_well([failed], {}, may_grow=True)


def test_every_stage_has_a_budget_and_no_other_has() -> None:
    names = [SET_UP, *(stage.name for stage in check_stages() + night_stages())]
    assert list(budgets(read_ledger(LEDGER))) == names
