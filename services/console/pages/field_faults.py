"""FieldFaults: what is wrong with a form, said at the field that it is about and in the form's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from nicegui import ui

from services.console.pages.shell import Words

_PREFIX = re.compile(r"^the \w+ is not usable: ")


class _Field(NamedTuple):
    words: str
    path: Callable[[], str]
    line: Words

    def found_in(self, text: str) -> re.Match[str] | None:
        """Return where `text` names the field."""
        return re.search(rf"(?<![\w.])(?:{self.path()})(?!\w)", text)


class FieldFaults:
    """Takes a sentence of ours or of a service, as the line below a form does; what is about no field stays there."""

    def __init__(self) -> None:
        self._fields: list[_Field] = []
        self._below: Words | None = None

    @contextmanager
    def at(self, words: str, path: str | Callable[[], str]) -> Iterator[None]:
        """Draw a field, which the form calls `words` and a fault names by the regular expression `path`.

        What a fault calls a field may change while it stands there: then `path` is a function.
        """
        with ui.element("div").classes("field"):
            yield
            line = _line()
        self._fields.append(_Field(words, path if callable(path) else lambda: path, line))

    def below(self) -> None:
        """Draw where the rest is said."""
        self._below = _line()

    def set_text(self, text: str) -> None:
        """Say what is wrong; nothing, where `text` is empty."""
        self._fields = [each for each in self._fields if not each.line.is_deleted]
        lines = [each.line for each in self._fields] + ([] if self._below is None else [self._below])
        for line in lines:
            line.set_text("")
        found = [(named.start(), -len(named[0]), each) for each in self._fields if (named := each.found_in(text))]
        if found:
            field = min(found, key=lambda each: each[:2])[2]
            field.line.set_text(_in_its_words(text, field))
        elif self._below is not None:
            self._below.set_text(text)


def _line() -> Words:
    return Words("p", "").classes("field-fault").props("role=alert")


def _in_its_words(text: str, field: _Field) -> str:
    """Return the fault with the form's name in place of one that only programs use."""
    said = _PREFIX.sub("", text)
    named = field.found_in(said)
    if named is None or (named.start() and not re.search(r"[_.]", named[0])):
        return said
    return f"{said[: named.start()]}“{field.words}”{said[named.end() :]}"
