"""docs/explanation/coalescing.md: its Python and its commands say what the page shows, its query is accepted."""

from __future__ import annotations

import doctest
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from coincide.queries import Query, query_from_json
from docs.generate import ROOT

PAGE = (ROOT / "docs/explanation/coalescing.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
QUERIES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def test_the_python_shown_says_what_it_shows() -> None:
    session = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(session, {}, "coalescing.md", "docs/explanation/coalescing.md", 0)
    assert len(test.examples) >= 40
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=range(len(COMMANDS)))
def test_the_command_answers_what_the_page_shows(command: str, shown: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config/examples", tmp_path / "config/examples")
    script = f'coincide() {{ PYTHONPATH="{ROOT}" "{sys.executable}" -m coincide "$@"; }}\n{command}'
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 4
    assert PAGE.count("```sh\n") == len(COMMANDS)


@pytest.mark.parametrize("document", QUERIES, ids=[query["id"] for query in QUERIES])
def test_the_query_is_accepted(document: dict[str, object]) -> None:
    schema = json.loads((ROOT / "docs/contracts/query.schema.json").read_text(encoding="utf-8"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []
    query = query_from_json(document)
    if isinstance(query, Query):
        assert query.coalesce is not None
        assert query.coalesce.to_json() == document["coalesce"]
