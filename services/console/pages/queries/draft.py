"""Draft: a query that somebody edits, in three views that stay in step, and what is wrong with it and where."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from coincide.errors import CoincideError
from coincide.queries import query_from_json
from coincide.queries.sql import query_from_sql, sql_of

LONGEST_TEXT = 60_000


TextView = Literal["json", "sql"]


class DraftFault(NamedTuple):
    """What is wrong, in a sentence, and in which line of the text that was edited; 0: no line is known."""

    sentence: str
    line: int = 0


@dataclass
class Draft:
    """The document as it was last understood; `fault` says what is wrong with what was written since."""

    id: str
    document: dict[str, Any]
    version: int | None = None  # the one it is a change of; None: it is new
    fault: DraftFault | None = None
    unread: tuple[TextView, str] | None = None  # what somebody wrote that is no JSON or SQL, until it is
    on_change: list[Callable[[], None]] = field(default_factory=list)

    @property
    def json_text(self) -> str:
        """The document as text, or what somebody wrote in its place."""
        if self.unread is not None and self.unread[0] == "json":
            return self.unread[1]
        return json.dumps({name: each for name, each in self.document.items() if name != "id"}, indent=2)

    def put(self, document: dict[str, Any], text: str = "") -> None:
        """Take over a document; what is wrong with it is its fault, at a line of `text` if that has it."""
        self.document = document
        self.fault = self.unread = None
        try:
            query_from_json({**document, "id": self.id or "new"})
        except CoincideError as error:
            self.fault = DraftFault(str(error), line_of(error.field, text))
        for tell in self.on_change:
            tell()

    def refuse(self, sentence: str) -> None:
        """Say of the document that it is not what somebody wrote, until that is taken over."""
        self.fault = DraftFault(sentence)
        for tell in self.on_change:
            tell()

    def put_json(self, text: str) -> None:
        """Take over a text of JSON; one that is none is only a fault."""
        try:
            document = json.loads(text[:LONGEST_TEXT])
        except json.JSONDecodeError as error:
            self._blame(
                DraftFault(f"line {error.lineno}, column {error.colno}: {error.msg}", error.lineno), "json", text
            )
        except RecursionError:
            self._blame(DraftFault("it is nested too deeply", 1), "json", text)
        else:
            if isinstance(document, dict):
                self.put(document, text)
            else:
                self._blame(DraftFault("a query is an object: { ... }", 1), "json", text)

    @property
    def sql_text(self) -> str:
        """The document as SQL, or what somebody wrote in its place; empty where it is no query."""
        if self.unread is not None and self.unread[0] == "sql":
            return self.unread[1]
        try:
            return sql_of(query_from_json({**self.document, "id": self.id or "new"}))
        except CoincideError:
            return ""

    def put_sql(self, text: str) -> None:
        """Take over a text of SQL; one that is none is only a fault."""
        try:
            query = query_from_sql(text, self.id or "new")
        except CoincideError as error:
            self._blame(DraftFault(str(error), getattr(error, "line", 0)), "sql", text)
        else:
            self.put({name: each for name, each in query.to_json().items() if name != "id"})

    def _blame(self, fault: DraftFault, view: TextView, text: str) -> None:
        self.fault, self.unread = fault, (view, text[:LONGEST_TEXT])
        for tell in self.on_change:
            tell()


def line_of(path: str, text: str) -> int:
    """Return the line of JSON text where the field of a path such as ``within[1].threshold`` stands; 0: nowhere."""
    at = 0
    for name, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if name:
            found = text.find(json.dumps(name), at)
            if found < 0:
                break
            at = found
        else:
            at = _element(text, at, int(number))
    return text.count("\n", 0, at) + 1 if at else 0


def _element(text: str, at: int, number: int) -> int:
    """Return where an element of the next array begins; `at` where there is none."""
    begin = text.find("[", at)
    if begin < 0:
        return at
    depth, seen = 0, 0
    for place in range(begin + 1, len(text)):
        if seen == number and not text[place].isspace():
            return place
        depth += (text[place] in "[{") - (text[place] in "]}")
        if depth < 0:
            return at
        seen += depth == 0 and text[place] == ","
    return at
