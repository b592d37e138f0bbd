"""What a person sees while a system starts: a moving line for each process on a terminal, lines of text elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from deploy.local.system import Report

LINE_EVERY_S = 10.0


@contextmanager
def shown() -> Iterator[Report]:
    """Yield a report that shows, until the block ends, which process does what."""
    console = Console()
    if not console.is_terminal:
        yield lines()
        return
    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description:<9} {task.fields[state]}"))
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:

        def report(name: str, state: str) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=1, state=state)
            progress.update(tasks[name], state=state, completed=1 if state == "ready" else 0)

        yield report


def lines(
    say: Callable[[str], None] = lambda line: print(line, flush=True), clock: Callable[[], float] = time.monotonic
) -> Report:
    """Return a report that says what changes, and every `LINE_EVERY_S` what each process that is waited for does.

    What stands after a comma tells how far a process is: that alone is no change.
    """
    said: dict[str, tuple[str, float]] = {}

    def report(name: str, state: str) -> None:
        word, now_s = state.partition(",")[0], clock()
        before, said_at_s = said.get(name, ("", now_s))
        if word != before or now_s - said_at_s >= LINE_EVERY_S:
            said[name] = word, now_s
            say(f"{name}: {state}")

    return report
