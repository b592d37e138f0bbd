"""A failure is told before the tests that come after it have run."""

from pathlib import Path

from tests.check.tests.projects import run_project

CONFTEST = 'pytest_plugins = ["tests.check.at_once"]\n'
TESTS = """
def test_good(): pass
def test_bad(): assert [1, 2] == [1, 3]
def test_after(): pass
"""


def test_what_fails_is_told_before_the_next_test(tmp_path: Path) -> None:
    files = {"made/conftest.py": CONFTEST, "made/test_a.py": TESTS}
    ran = run_project(tmp_path, files, "--numprocesses=1", "-p", "xdist")
    bad = ran.output.index("made/test_a.py::test_bad failed in its call")
    said = ran.output.index("assert [1, 2] == [1, 3]", bad)
    assert said < ran.output.index("=== FAILURES ===")
    assert said < ran.output.rindex("test_after")
