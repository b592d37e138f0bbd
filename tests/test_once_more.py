"""A check that a test which failed once does not stop, and one that fails twice does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: A test that fails as often as told, one that builds on it, and some that always fail.
TESTS = """
from pathlib import Path
import pytest
TRIES = Path(__file__).parent / "tries"

def test_that_fails_at_first():
    tries = len(TRIES.read_text()) if TRIES.exists() else 0
    TRIES.write_text("x" * (tries + 1))
    assert tries >= {failures}

def test_that_builds_on_it():
    assert TRIES.exists()

@pytest.mark.parametrize("number", range({always}))
def test_that_always_fails(number):
    assert False
"""


@pytest.mark.parametrize(
    ("failures", "always", "tries", "status"),
    [(0, 0, 1, 0), (1, 0, 2, 0), (2, 0, 2, 1), (1, 1, 2, 1), (1, 5, 1, 1)],
    ids=["never", "once", "twice", "once beside one that always does", "too many to be an accident"],
)
def test_what_fails_twice_or_in_numbers_stops_the_check(
    failures: int, always: int, tries: int, status: int, tmp_path: Path
) -> None:
    (tmp_path / "test_tried.py").write_text(TESTS.format(failures=failures, always=always))
    ended = _checked(tmp_path)
    assert ended.returncode == status, ended.stdout
    assert len((tmp_path / "tries").read_text()) == tries
    assert ("FAILED ONCE" in ended.stdout) == (tries == 2 and status == 0)


def test_what_is_no_failure_of_a_test_stops_the_check(tmp_path: Path) -> None:
    ended = _checked(tmp_path)
    assert ended.returncode == 5, ended.stdout  # there was no test


def _checked(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the check over the tests in ``folder``, without plugins, which take seconds to load."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, "-c", "from tests.once_more import run; raise SystemExit(run([]))"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
