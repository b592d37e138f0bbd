"""Small made-up projects of tests, which are run by a pytest of their own."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.check.ledger import ROOT

PLAIN = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:hypothesispytest")


@dataclass(frozen=True)
class Ran:
    """What that pytest said, and the lines that its tests wrote into the file ``told`` beside them."""

    status: int
    output: str
    told: list[str]


def run_project(folder: Path, files: Mapping[str, str], *options: str) -> Ran:
    """Write the files of a project into the folder and run its tests."""
    for name, text in {"pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["made"]\n', **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "told").touch()
    run = [sys.executable, "-m", "pytest", "--import-mode=importlib", "-v", *PLAIN, *options]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120)
    return Ran(done.returncode, done.stdout + done.stderr, (folder / "told").read_text(encoding="utf-8").split())
