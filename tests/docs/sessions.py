"""Blocks of the documents' pages, and their Python sessions, run."""

import doctest
import re
from pathlib import Path
from typing import Any


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


def defined_by(page: str, path: Path, least: int) -> dict[str, Any]:
    """Check that the page's Python, at least so many examples, says what it shows; return what it defines."""
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "python")), {}, path.name, str(path), 0)
    assert len(test.examples) >= least
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
    return test.globs
