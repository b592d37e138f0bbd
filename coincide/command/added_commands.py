"""Commands that other packages add to ``coincide``: each is an entry point of the group ``coincide.commands``.

The entry point names a module with the functions of `AddedCommand`. Where coincide runs from a checkout, its
pyproject.toml says what an installation would.
"""

from __future__ import annotations

import tomllib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

GROUP = "coincide.commands"


class AddedCommand(Protocol):
    """What the module of a command has."""

    def add(self, commands: Any) -> ArgumentParser:
        """Add the command to those of a parser, and return its own parser; it imports nothing large."""

    def run(self, options: Namespace) -> int:
        """Do what the options say; return the exit status."""


def added_commands() -> dict[str, AddedCommand]:
    """Return every command that somebody adds, by its name; none of a package that is not there."""
    return {each.name: each.load() for each in _entries() if find_spec(each.module.partition(".")[0])}


def _entries() -> Iterable[EntryPoint]:
    checkout = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if not checkout.is_file():
        return entry_points(group=GROUP)
    declared = tomllib.loads(checkout.read_text(encoding="utf-8"))["project"]["entry-points"][GROUP]
    return [EntryPoint(name, module, GROUP) for name, module in declared.items()]
