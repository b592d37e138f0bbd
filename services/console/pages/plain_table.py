"""A table with a name above each column, or beside each cell where the page is too narrow for columns."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from services.console.pages.shell import Words


@contextmanager
def plain_table(columns: Sequence[str], look: str = "told") -> Iterator[None]:
    """Draw a table; its rows are what the block draws. `look` is what the style sheet calls it besides."""
    table = ui.element("table").classes(f"plain {look}")
    for nth, column in enumerate(columns, 1):
        table.style[f"--column-{nth}"] = json.dumps(column)  # the style sheet puts it beside the cells
    with table:
        with ui.element("thead"), ui.element("tr"):
            for column in columns:
                Words("th", column).props("scope=col")
        with ui.element("tbody"):
            yield
