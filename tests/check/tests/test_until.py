"""Tests that begin too late are left out, and counted."""

import time
from pathlib import Path

import pytest

from tests.check.tests.projects import run_project

PROJECT = {
    "made/conftest.py": """
import pytest
from made_times import TIMES
pytest_plugins = ["tests.check.until"]

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    plugin = config.pluginmanager.get_plugin("until")
    times = iter(TIMES)
    plugin.end_s, plugin.clock = 5, lambda: next(times)

@pytest.fixture(scope="module")
def page():
    yield
    with open("told", "a") as file:
        file.write("ended\\n")
""",
    "made/test_a.py": "".join(f"def test_{n}(page): open('told', 'a').write('{n}\\n')\n" for n in range(4)),
}


@pytest.mark.parametrize("spread", [(), ("-n1",)], ids=["alone", "spread"])
@pytest.mark.parametrize("times", [(0, 0, 11), (20, 30, 31)], ids=["in time", "late"])
def test_no_test_begins_after_the_end_but_for_ten_seconds_some_do(
    times: tuple[float, ...], spread: tuple[str, ...], tmp_path: Path
) -> None:
    files = {**PROJECT, "made_times.py": f"TIMES = {(*times, 99, 99)}"}
    ran = run_project(tmp_path, files, f"--until={time.time()}", *spread)
    assert ran.status == 0, ran.output
    assert ran.told == ["0", "1", "ended"]
    assert "2 tests left out" in ran.output
