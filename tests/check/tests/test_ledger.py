"""The ledger, and the plugin that writes what a run took."""

from pathlib import Path

from tests.check import ledger
from tests.check.ledger import LEDGER, Phases, Row, Run
from tests.check.tests.projects import run_project

CONFTEST = 'pytest_plugins = ["tests.check.durations"]\n'
LOWERED = """
from tests.check import durations

durations.SLOW_FILE_S, durations.SLOW_TEST_S = 0.4, 0.25
"""
SLOW = """
import time
import pytest
@pytest.fixture
def slow():
    time.sleep(0.3)

def test_slow(slow): time.sleep(0.2)
def test_quick(): pass
"""
FILE = "tests/check/tests/test_ledger.py"


def test_a_run_leaves_what_files_and_slow_tests_took(tmp_path: Path) -> None:
    files = {"made/conftest.py": LOWERED + CONFTEST, "made/test_a.py": SLOW, "made/test_b.py": "def test_b(): pass\n"}
    for options in ((), ("-n", "2", "--dist", "loadgroup")):
        path = tmp_path / "kept" / f"stage{len(options)}.json"
        ran = run_project(tmp_path, files, f"--ledger={path}", *options)
        assert ran.status == 0, ran.output
        run = ledger.read_run(path)
        assert set(run.files) == {"made/test_a.py", "made/test_b.py"}
        assert run.files["made/test_a.py"].setup >= 0.3
        assert run.files["made/test_a.py"].call >= 0.2
        assert set(run.slow_tests) == {"made/test_a.py::test_slow"}
        told = ran.output.partition("files over")[2]
        assert "test_a.py" in told
        assert "test_b.py" not in told


def test_no_file_is_written_unasked(tmp_path: Path) -> None:
    run_project(tmp_path, {"made/conftest.py": CONFTEST, "made/test_b.py": "def test_b(): pass\n"})
    assert not list(tmp_path.rglob("*.json"))


def test_a_ledger_is_renewed_but_for_its_budgets() -> None:
    old = [Row("stage", "tests", 500, 600), Row("file", "tests/gone.py", 50), Row("file", FILE, 40)]
    runs = [Run("tests", 700.4, {FILE: Phases(1, 29, 1)}), Run("lint", 61)]
    assert ledger.renewed(old, runs) == [
        Row("stage", "tests", 700, 600),
        Row("stage", "lint", 61, 120),
        Row("file", FILE, 31),
    ]
    assert ledger.renewed(old, [Run("tests", 1, {FILE: Phases(0, 20, 0)})]) == [Row("stage", "tests", 1, 600)]


def test_a_file_takes_what_its_tests_take_by_day_and_at_night() -> None:
    runs = [Run("night", 20, {FILE: Phases(call=15)}), Run("tests", 20, {FILE: Phases(setup=6)})]
    assert Row("file", FILE, 21) in ledger.renewed([], runs)


def test_a_ledger_reads_as_it_was_written(tmp_path: Path) -> None:
    rows = [Row("stage", "tests", 500, 600), Row("file", FILE, 40), Row("stage", "new", None, 9)]
    (tmp_path / "ledger.csv").write_text(ledger.text_of(rows), encoding="utf-8")
    assert ledger.read_ledger(tmp_path / "ledger.csv") == rows


def test_what_ran_here_is_known_before_what_the_repository_says(tmp_path: Path) -> None:
    rows = [Row("file", "tests/a.py", 40), Row("file", "tests/b.py", 30), Row("stage", "tests", 500, 600)]
    (tmp_path / "ledger.csv").write_text(ledger.text_of(rows), encoding="utf-8")
    ledger.write_run(Run("tests", 9, {"tests/b.py": Phases(call=7)}), tmp_path / "runs/tests.json")
    known = ledger.known_seconds(tmp_path / "ledger.csv", tmp_path / "runs")
    assert known == {"tests/a.py": 40, "tests/b.py": 7}


def test_a_stage_may_be_a_tenth_over_its_budget() -> None:
    assert [ledger.is_over(seconds, 100) for seconds in (110.0, 110.1)] == [False, True]
    assert not ledger.is_over(1e6, None)


def test_the_ledger_of_the_repository_names_files_that_exist_and_stages_with_budgets() -> None:
    rows = ledger.read_ledger(LEDGER)
    assert LEDGER.read_text(encoding="utf-8") == ledger.text_of(rows)
    assert not [row.name for row in rows if row.kind == "file" and not (ledger.ROOT / row.name).is_file()]
    assert not [row.name for row in rows if row.kind == "stage" and row.budget is None]
