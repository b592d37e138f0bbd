"""The form of a query's alert rule: whether somebody is told, how urgently, of what, and who."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.shell import Words, choice, number_field, text_field

SEVERITIES = ("info", "warning", "critical")
TITLE = "{query} in {area}"


class AlertForm:
    """The rule of a document; `put` takes the rule as it shall be, None for no rule."""

    def __init__(
        self, rule: Any, receivers: Sequence[str], put: Callable[[dict[str, Any] | None], None], *, is_join: bool
    ) -> None:
        self._rule: dict[str, Any] | None = dict(rule) if isinstance(rule, dict) else None
        self._receivers, self._put_rule, self._is_join = receivers, put, is_join
        self._box = ui.element("div").classes("stack")
        self._draw()

    def _draw(self) -> None:
        self._box.clear()
        rule = self._rule
        severity = None if rule is None else rule.get("severity", "warning")
        with self._box:
            with ui.element("div").classes("row"):
                if isinstance(severity, list):
                    Words("span", "Tells somebody; how urgently depends on the probability: the JSON shows it.")
                else:
                    known = "" if severity is None else f"{severity}"
                    offered = {"": "nobody", **{each: each for each in dict.fromkeys([known, *SEVERITIES]) if each}}
                    choice("Tell somebody", offered, known, self._take_severity)
                if rule is not None:
                    text_field("Title", str(rule.get("title", TITLE)), lambda text: self._take("title", text or None))
            if rule is not None:
                self._particulars(rule)

    def _particulars(self, rule: dict[str, Any]) -> None:
        with ui.element("div").classes("row"):
            to = rule.get("to")
            shown = ", ".join(map(str, to)) if isinstance(to, list) else ""
            text_field("Receivers (none: all of them)", shown, self._take_receivers)
            if self._is_join:
                number_field("from probability", rule.get("min_probability"), partial(self._take, "min_probability"))
            number_field("over so long after, s", rule.get("resolve_after_s"), partial(self._take, "resolve_after_s"))
        if self._receivers:
            Words("p", f"There are: {', '.join(self._receivers[:20])}.").classes("soft small")
            return
        with ui.element("p").classes("soft small"):
            Words("span", "Nobody can be told yet: ")
            with ui.element("a").props('href="/alerts"'):
                ui.label("make a receiver")

    def _take_severity(self, severity: str) -> None:
        self._rule = {**(self._rule or {}), "severity": severity} if severity else None
        self._put_rule(self._rule)
        self._draw()

    def _take_receivers(self, text: str) -> None:
        self._take("to", [each.strip() for each in text.split(",") if each.strip()] or None)

    def _take(self, name: str, value: Any) -> None:
        rule = {**(self._rule or {}), name: value}
        self._rule = {each: value for each, value in rule.items() if value is not None}
        self._put_rule(self._rule)
