"""The element in which a query is written as JSON or SQL; it offers the words that may stand where somebody writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

from nicegui import ui

from coincide.queries.language.grammar import KEYWORDS
from coincide.queries.language.spelling import name

FAULT_LOOK = "code-fault"  # in the style sheet
_MOUNTED = """({component, el}) => import("coincide-query-code").then((module) => module.equip(component.proxy, el))"""


class QueryCode(ui.codemirror, esm={"coincide-query-code": "query_code"}):
    """A text of a query. `take` hears what somebody writes, `known` are names that exist, by what they name.

    The line `marked` has a fault; 0: none has.
    """

    def __init__(
        self,
        text: str,
        language: Literal["JSON", "SQL"],
        take: Callable[[str], None],
        known: dict[str, Sequence[str]],
        label: str,
        marked: int,
    ) -> None:
        super().__init__(
            text,
            on_change=lambda event: take(event.value),
            theme="githubLight",
            indent="  ",
            line_wrapping=True,
            decorations=_marks(marked),
        )
        words = {**known, "keywords": sorted(KEYWORDS), "sql_streams": [name(each) for each in known["streams"]]}
        self.classes("code")
        self.props["aria-label"] = f"{label}. Escape, then Tab leads on."
        self.props["data-language"], self.props["data-known"] = language, json.dumps(words)
        self.on("vnodeMounted", js_handler=_MOUNTED)
        self._marked = marked

    def mark_line(self, line: int) -> None:
        """Mark the line where the fault is; 0: none.

        As a property the mark would bring along the text as it was known here, and undo what was written since.
        """
        if line != self._marked:
            self._marked = line
            self.run_method("setDecorations", _marks(line))


def _marks(line: int) -> list[dict[str, Any]]:
    return [{"kind": "line", "line": line, "class": FAULT_LOOK}] if line else []
