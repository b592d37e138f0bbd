"""docs/explanation/timing-join.md and the README's command: what they show is what comes out."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generate import ROOT

PAGE = (ROOT / "docs/explanation/timing-join.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```sh\n(coincide .*?)```(?:\n\n```text\n(.*?)```)?", PAGE + README, re.DOTALL)


def test_the_python_shown_says_what_it_shows() -> None:
    session = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(session, {}, "timing-join.md", "docs/explanation/timing-join.md", 0)
    assert len(test.examples) >= 6
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_the_command_answers_what_the_page_shows(command: str, shown: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config/examples", tmp_path / "config/examples")
    script = f'coincide() {{ PYTHONPATH="{ROOT}" "{sys.executable}" -m coincide "$@"; }}\n{command}'
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert shown in done.stdout
    assert len(done.stdout.splitlines()) >= 2


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 3
