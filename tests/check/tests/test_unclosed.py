"""What nobody closed fails the session that it was found in, by name, and no test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.host.machine import ROOT

CONFTEST = "import tracemalloc\nfrom tests.check.unclosed import register as pytest_configure\ntracemalloc.start(3)\n"
#: What takes long to load, and the files that it would leave.
WITHOUT = ("-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
LEAKS = "def test_it_leaks(tmp_path):\n    (tmp_path / 'left').open('w')\n"
HOLDS = "def test_it_holds(tmp_path):\n    a = [(tmp_path / 'held').open('w')]\n    a.append(a)\n"
CLOSES = "def test_it_closes(tmp_path):\n    (tmp_path / 'shut').open('w').close()\n"


def session(folder: Path, *options: str, tests: str) -> subprocess.CompletedProcess[str]:
    """Run a session of its own on `tests`."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_all.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings =\n    error\n    always::ResourceWarning\n")
    command = [sys.executable, "-m", "pytest", *WITHOUT, *options]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [(), ("--numprocesses", "1")], ids=["alone", "by a worker"])
def test_the_session_fails_and_no_test(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = session(tmp_path, *options, tests=LEAKS + HOLDS + CLOSES)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "3 passed" in done.stdout
    _, _, told = done.stdout.partition("never closed")
    assert told.count("/left'") == told.count("/held'") == 1
    assert "(found in test_all.py::test_it_leaks)" in told
    assert f'File "{tmp_path}/test_all.py", line 2' in told
    assert "shut" not in told


def test_where_all_is_closed_the_session_passes(tmp_path: Path) -> None:
    done = session(tmp_path, tests=CLOSES)
    assert (done.returncode, "never closed" in done.stdout) == (0, False)
