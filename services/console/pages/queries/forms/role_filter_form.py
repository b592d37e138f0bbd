"""Which detections of its stream play a role: of which sensors and areas, and with which attributes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from coincide.queries.fields.checks import attribute_name, attribute_path
from services.console.pages.queries.forms.document_fields import LONGEST_LIST, names_in
from services.console.pages.shell import Words, button, choice, text_field

TESTS = {
    "above": "is above",
    "at_least": "is at least",
    "below": "is below",
    "at_most": "is at most",
    "is": "is",
    "in": "is one of",
}
MOST_CONDITIONS = 16


class RoleFilterForm:
    """The filter of one role; `replace` takes the source as it shall be, which is a text where it has no filter."""

    def __init__(self, role: str, source: Any, replace: Callable[[Any], None]) -> None:
        self._source: dict[str, Any] = dict(source) if isinstance(source, dict) else {"stream": source}
        self._replace = replace
        self._conditions = [list(each) for each in conditions_of(self._source.get("where"))]
        with ui.element("details").classes("role-filter") as more:
            more.props["aria-label"] = f"Which detections play {role}"
            self._said = Words("summary", self._words())
            with ui.element("div").classes("stack"):
                with ui.element("div").classes("row"):
                    for name, words in (("sensors", "Sensors (none: all)"), ("areas", "Areas (none: all)")):
                        known = self._source.get(name)
                        shown = ", ".join(map(str, known)) if isinstance(known, list) else ""
                        text_field(words, shown, partial(self._take_names, name))
                self._box = ui.element("div").classes("stack")
        self._draw()

    def _words(self) -> str:
        return "only some of its detections" if len(self._source) > 1 else "all of its detections"

    def _draw(self) -> None:
        self._box.clear()
        with self._box:
            for nth, (name, test, value) in enumerate(self._conditions):
                with ui.element("div").classes("row"):
                    text_field("Attribute", name, partial(self._take, nth, 0))
                    choice("it", TESTS, test, partial(self._take_test, nth))
                    text_field("value", text_of(test, value), partial(self._take_value, nth), most=LONGEST_LIST)
                    button("✕", partial(self._drop, nth), label=f"Leave out condition {nth + 1}")
            if len(self._conditions) < MOST_CONDITIONS:
                button("Add a condition", self._add)

    def _take_names(self, name: str, text: str) -> None:
        self._source[name] = names_in(text)
        self._put()

    def _take(self, nth: int, part: int, value: Any) -> None:
        self._conditions[nth][part] = value
        self._put()

    def _take_test(self, nth: int, test: str) -> None:
        name, was, value = self._conditions[nth]
        self._conditions[nth] = [name, test, value_in(test, text_of(was, value))]
        self._put()

    def _take_value(self, nth: int, text: str) -> None:
        self._take(nth, 2, value_in(self._conditions[nth][1], text))

    def _add(self) -> None:
        self._conditions.append(["", "above", ""])
        self._draw()

    def _drop(self, nth: int) -> None:
        del self._conditions[nth]
        self._draw()
        self._put()

    def _put(self) -> None:
        self._source["where"] = where_of(self._conditions)
        self._source = {name: value for name, value in self._source.items() if name == "stream" or value}
        self._said.set_text(self._words())
        self._replace(dict(self._source) if len(self._source) > 1 else self._source["stream"])


def conditions_of(where: Any) -> list[tuple[str, str, Any]]:
    """Return attribute, test and value of each condition."""
    tests = where if isinstance(where, dict) else {}
    return [
        (attribute_name(name), test, value)
        for name, each in tests.items()
        if isinstance(each, dict)
        for test, value in each.items()
    ]


def where_of(conditions: list[list[Any]]) -> dict[str, dict[str, Any]]:
    """Return the conditions as a query has them; of two that are one test of one attribute the last counts."""
    where: dict[str, dict[str, Any]] = {}
    for name, test, value in conditions:
        if name.strip():
            where.setdefault(attribute_path(name.strip()), {})[test] = value
    return where


def value_in(test: str, text: str) -> Any:
    """Return the value that a text says: numbers, true and false are such, all else is text, as is "5" in quotes."""
    return [_single(each) for each in names_in(text)] if test == "in" else _single(text.strip())


def _single(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=str)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float) else text


def text_of(test: str, value: Any) -> str:
    """Return the text that `value_in` reads as this value."""
    if test == "in" and isinstance(value, list):
        return ", ".join(text_of("is", each) for each in value)
    is_plain = isinstance(value, str) and _single(value) == value
    return value if is_plain else json.dumps(value, ensure_ascii=False)
