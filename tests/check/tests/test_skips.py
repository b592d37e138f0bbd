"""Which skips fail a run of a made-up project."""

from pathlib import Path

import pytest

from tests.check.skips import Allowed, read_allowed
from tests.check.tests.projects import Ran, run_project

CONFTEST = """
from pathlib import Path
import pytest
from tests.check import skips

pytest_plugins = ["tests.check.skips"]

skips.read_allowed.__defaults__ = (Path("allowed.txt"),)
"""
PROJECT = {
    "made/conftest.py": CONFTEST,
    "made/test_a.py": """
import pytest

@pytest.mark.skipif(True, reason="no ObsPy: get it")
def test_marked(): pass

def test_within(): pytest.skip("no ObsPy either")

@pytest.mark.xfail(reason="no skip", strict=True)
def test_expected(): assert False
""",
    "made/test_whole.py": "import pytest\npytest.skip('nothing here', allow_module_level=True)\n",
}
MOST = "made/test_a.py::* no ObsPy\n"
ALL = f"# a comment\n\n{MOST}made/test_whole.py nothing here\n"


def run(folder: Path, allowed: str, *options: str) -> Ran:
    return run_project(folder, {**PROJECT, "allowed.txt": allowed}, *options)


@pytest.mark.parametrize("spread", [(), ("-n2", "--dist=load")], ids=["alone", "spread"])
def test_a_skip_that_is_not_listed_fails_where_skips_are_errors(spread: tuple[str, ...], tmp_path: Path) -> None:
    ran = run(tmp_path, MOST, "--skips-are-errors", *spread)
    assert ran.status == pytest.ExitCode.TESTS_FAILED
    assert "FAILED: tests/skips.txt does not allow to skip made/test_whole.py\n" in ran.output
    assert "3 skipped" in ran.output
    assert "made/test_a.py::test_within: no ObsPy either" in ran.output


def test_a_listed_skip_fails_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, ALL, "--skips-are-errors").status == 0


def test_elsewhere_skips_are_told_only(tmp_path: Path) -> None:
    ran = run(tmp_path, "")
    assert ran.status == 0
    assert "made/test_whole.py: nothing here" in ran.output


def test_a_line_needs_words(tmp_path: Path) -> None:
    (tmp_path / "allowed.txt").write_text("made/test_a.py\n", encoding="utf-8")
    with pytest.raises(pytest.UsageError, match=r"made/test_a\.py has no words of a reason"):
        read_allowed(tmp_path / "allowed.txt")


def test_a_skip_is_allowed_by_its_name_and_its_reason() -> None:
    allowed = Allowed("tests/a.py::*", "no C")
    assert allowed.allows("tests/a.py::test_a", "there is no C compiler")
    assert not allowed.allows("tests/a.py::test_a", "there is no jq")
    assert not allowed.allows("tests/b.py::test_a", "there is no C compiler")
