"""The form of a query's alert rule: whether somebody is told, how urgently, of what, and who."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.queries.forms.document_fields import DocumentFields
from services.console.pages.shell import Words, choice, number_field, text_field

SEVERITIES = ("info", "warning", "critical")
TITLE = "{query} in {area}"


class AlertForm:
    """The fields of a document's rule."""

    def __init__(self, fields: DocumentFields, receivers: Sequence[str], *, asks_probability: bool) -> None:
        rule = fields.get("alert")
        self._rule: dict[str, Any] | None = dict(rule) if isinstance(rule, dict) else None
        self._fields, self._receivers, self._asks_probability = fields, receivers, asks_probability
        self._box = ui.element("div").classes("stack")
        self._draw()

    def _draw(self) -> None:
        self._box.clear()
        rule = self._rule
        severity = None if rule is None else rule.get("severity", "warning")
        with self._box:
            with ui.element("div").classes("row"):
                if isinstance(severity, list):
                    Words("span", "Tells somebody; how urgently depends on how well the times fit: the JSON shows it.")
                else:
                    known = "" if severity is None else f"{severity}"
                    offered = {"": "nobody", **{each: each for each in dict.fromkeys([known, *SEVERITIES]) if each}}
                    with self._fields.at("Tell somebody", "alert", "severity"):
                        choice("Tell somebody", offered, known, self._take_severity)
                if rule is not None:
                    with self._fields.at("Title", "alert", "title"):
                        text_field("Title", str(rule.get("title", TITLE)), self._take_title)
            if rule is not None:
                self._particulars(rule)

    def _particulars(self, rule: dict[str, Any]) -> None:
        with ui.element("div").classes("row"):
            to = rule.get("to")
            shown = ", ".join(map(str, to)) if isinstance(to, list) else ""
            with self._fields.at("Receivers", "alert", "to"):
                text_field("Receivers (none: all of them)", shown, self._take_receivers)
            if self._asks_probability:
                self._number("times fit with at least", "min_probability", rule)
                self._number("sure of one event at least", "min_posterior", rule)
            self._number("over so long after, s", "resolve_after_s", rule)
        if self._receivers:
            Words("p", f"There are: {', '.join(self._receivers[:20])}.").classes("soft small")
            return
        with ui.element("p").classes("soft small"):
            Words("span", "Nobody can be told yet: ")
            with ui.element("a").props('href="/alerts"'):
                ui.label("make a receiver")

    def _number(self, label: str, name: str, rule: dict[str, Any]) -> None:
        with self._fields.at(label, "alert", name):
            number_field(label, rule.get(name), partial(self._take, name))

    def _take_title(self, text: str) -> None:
        self._take("title", text or None)

    def _take_severity(self, severity: str) -> None:
        self._rule = {**(self._rule or {}), "severity": severity} if severity else None
        self._fields.put("alert", value=self._rule)
        self._draw()

    def _take_receivers(self, text: str) -> None:
        self._take("to", [each.strip() for each in text.split(",") if each.strip()] or None)

    def _take(self, name: str, value: Any) -> None:
        rule = {**(self._rule or {}), name: value}
        self._rule = {each: value for each, value in rule.items() if value is not None}
        self._fields.put("alert", value=self._rule)
