"""Blocks of the documents' pages, their Python sessions, run, and the mark of tests of real picks."""

import doctest
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.reference import central_italy

needs_data = pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


def defined_by(page: str, path: Path, least: int) -> dict[str, Any]:
    """Check that the page's Python, at least so many examples, says what it shows; return what it defines."""
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "python")), {}, path.name, str(path), 0)
    assert len(test.examples) >= least
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
    return test.globs


def first_streams(page: str) -> dict[str, Any]:
    """Return the streams that the tutorial of the first network declares by a loop around one PUT."""
    [(names, declared)] = re.findall(r"for stream in ([\w ]+); do.*?-d '(\{.*?\})'", page, re.DOTALL)
    return {name: json.loads(declared) for name in names.split()}
