"""Dependabot is told of everything that has versions of others, and of nothing else."""

from pathlib import Path
from typing import Any

import yaml

from deploy.host.machine import ROOT

#: The files in which Dependabot finds what each of its ecosystems has.
FILES = {
    "pip": "pyproject.toml",
    "docker": "Dockerfile*",
    "docker-compose": "docker-compose.yml",
    "gomod": "go.mod",
}
IGNORED = {".venv", ".local", "site", "node_modules"}


def test_every_file_of_versions_is_looked_at() -> None:
    document = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))
    updates: list[dict[str, Any]] = document["updates"]
    told = {(each["package-ecosystem"], Path(each["directory"]).relative_to("/")) for each in updates}
    there = {
        (ecosystem, path.parent.relative_to(ROOT))
        for ecosystem, pattern in FILES.items()
        for path in ROOT.rglob(pattern)
        if not IGNORED & set(path.relative_to(ROOT).parts)
    }
    assert told == there
    assert all(each["schedule"]["interval"] in {"weekly", "monthly"} for each in updates)
