"""Progress bars on a terminal; nothing where standard error is none, or where the answer is to be read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from coincide.command.input.chunks import Advance

Stages = Callable[[str], Advance]
"""Starts a stage of the work; returns what is to be called with its share that is done."""


@contextmanager
def shown_stages(*, answer_on_terminal: bool) -> Iterator[Stages | None]:
    """Yield what shows a bar for each stage until the block ends; None if nobody would see it.

    An answer on a terminal would be drawn over: a bar takes back the lines above it whenever it moves.
    """
    if answer_on_terminal or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def stage(description: str) -> Advance:
            task = progress.add_task(description, total=1.0)
            return lambda share: progress.update(task, completed=share)

        yield stage


def advance_of(stages: Stages | None, description: str) -> Advance:
    """Start a stage; return what is to be called with its share that is done."""
    return (lambda _share: None) if stages is None else stages(description)
