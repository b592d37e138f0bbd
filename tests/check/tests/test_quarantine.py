"""What a test in quarantine may do, and for how long."""

from datetime import date
from pathlib import Path

import pytest

from tests.check import quarantine
from tests.check.quarantine import Quarantined, faults, read_listed
from tests.check.tests.projects import run_project

HERE = "tests/check/tests/test_quarantine.py"
TODAY = date(2026, 3, 31)
CONFTEST = """
from pathlib import Path
from tests.check import quarantine

pytest_plugins = ["tests.check.quarantine"]

quarantine.read_listed.__defaults__ = (Path("listed.txt"),)
"""
TESTS = """
import pytest

@pytest.mark.parametrize("n", ["a b", 2])
def test_flaky(n): assert n == 2

@pytest.fixture
def broken(): raise OSError

def test_set_up(broken): pass
def test_sound(): pass
"""
LISTED = """# a comment

made/test_a.py::test_flaky 2026-03-30 sees the other's clock
made/test_a.py::test_set_up  2026-03-30  a port is taken
"""


class TestNested:
    def test_in_a_class(self) -> None: ...


@pytest.mark.parametrize("spread", [(), ("-n2", "--dist=load")], ids=["alone", "spread"])
def test_a_listed_test_may_fail_and_is_told(spread: tuple[str, ...], tmp_path: Path) -> None:
    files = {"made/conftest.py": CONFTEST, "made/test_a.py": TESTS, "listed.txt": LISTED}
    ran = run_project(tmp_path, files, *spread)
    assert ran.status == 0, ran.output
    told = ran.output.partition("in quarantine: mend these")[2]
    assert "FAILED made/test_a.py::test_flaky[a b], since 2026-03-30: sees the other's clock" in told
    assert "passed made/test_a.py::test_flaky[2], since" in told
    assert "FAILED made/test_a.py::test_set_up, since 2026-03-30: a port is taken" in told
    assert "test_sound" not in told


def test_a_test_that_is_not_listed_may_not(tmp_path: Path) -> None:
    files = {"made/conftest.py": CONFTEST, "made/test_a.py": TESTS, "listed.txt": LISTED.partition("made")[0]}
    assert run_project(tmp_path, files).status == pytest.ExitCode.TESTS_FAILED


def fault(test: str, since: date) -> list[str]:
    return list(faults([Quarantined(test, since, "why")], TODAY))


def test_a_line_lasts_seven_days() -> None:
    test = f"{HERE}::test_a_line_lasts_seven_days"
    assert fault(test, date(2026, 3, 24)) == []
    assert "longer than 7 days" in fault(test, date(2026, 3, 23))[0]
    assert "yet to come" in fault(test, date(2026, 4, 1))[0]


@pytest.mark.parametrize("name", ["test_none", "TestNested::test_none", "fault::test_none"])
def test_a_line_names_a_test_that_there_is(name: str) -> None:
    assert "there is no such test" in fault(f"{HERE}::{name}", TODAY)[0]


@pytest.mark.parametrize("test", ["tests/none.py::test_none", HERE])
def test_a_line_names_a_file_and_a_test(test: str) -> None:
    assert "there is no such test" in fault(test, TODAY)[0]


def test_a_line_may_name_parameters_and_classes() -> None:
    assert fault(f"{HERE}::TestNested::test_in_a_class", TODAY) == []
    assert fault(f"{HERE}::test_a_line_names_a_test_that_there_is[test_none]", TODAY) == []


@pytest.mark.parametrize("line", ["made/test_a.py::test_a", "made/test_a.py::test_a 2026-03-31", "2026-03-31 why"])
def test_a_line_that_does_not_read_fails(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "listed.txt"
    path.write_text(line, encoding="utf-8")
    assert quarantine.main(TODAY, path) == 1
    assert f"and a reason; not {line!r}" in capsys.readouterr().err


def test_the_list_of_the_repository_reads() -> None:
    read_listed()
