"""How far a fetch is, is counted by the lines of the program that fetches, and told while it runs."""

import re
import sys
from pathlib import Path

import pytest

from deploy.setup.count import Count, last_words, run_and_tell

CAME, STARTED = re.compile("^came"), re.compile("^started")


def test_lines_say_how_many_are_there_of_how_many() -> None:
    count = Count("jars", CAME, total=3, more=STARTED, less=re.compile("^not needed"))
    for line in ("came", "started", "not needed", "not needed", "noise", "came"):
        count.take(line)
    assert count.said(12.4) == "  2 of 2 jars, 12 s"


def test_before_the_total_is_known_there_is_a_sign_of_life() -> None:
    assert Count("jars", CAME, more=STARTED).said(5.0) == "  5 s"


def test_it_tells_while_the_program_runs_and_keeps_all_that_it_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The program goes on only when it has been told of: whatever tells at the end alone would wait for ever."""
    told = tmp_path / "told"
    waiting = f"while not pathlib.Path({str(told)!r}).exists(): time.sleep(0.01)"
    program = f"import pathlib, time\nprint('came', flush=True)\n{waiting}"

    class Witness(Count):
        def said(self, after_s: float) -> str:
            if self.here:
                told.touch()
            return super().said(after_s)

    log = tmp_path / "logs" / "log"
    assert run_and_tell([sys.executable, "-c", program], Witness("jars", CAME, 2), log, every_s=0.01) == 0
    assert "  1 of 2 jars, 0 s\n" in capfd.readouterr().out
    assert log.read_text() == "came\n"


def test_a_program_that_fails_is_told_by_its_status_and_last_words(tmp_path: Path) -> None:
    program = "import sys\nfor each in range(9): print(each, flush=True)\nsys.exit('no network')"
    assert run_and_tell([sys.executable, "-c", program], Count("jars", CAME), tmp_path / "log") == 1
    assert "no network" in last_words(tmp_path / "log")
    assert "  0" not in last_words(tmp_path / "log").splitlines()
