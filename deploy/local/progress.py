"""Show on the terminal, while a system starts, which process does what and since when."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from deploy.local.readiness import Report


@contextmanager
def shown() -> Iterator[Report]:
    """Yield a report that shows a line for each process until the block ends."""
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description:<9} {task.fields[state]:<8}"),
        TimeElapsedColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns) as progress:

        def report(name: str, state: str) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=1, state=state)
            progress.update(tasks[name], state=state, completed=1 if state == "ready" else 0)

        yield report
