"""The form of a query over readings: what is read, which values count, and what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from nicegui import ui

from services.console.pages.queries.forms.document_fields import DocumentFields, names_in
from services.console.pages.shell import choice, number_field, text_field

SPELL = "spell"
QUESTIONS = {
    SPELL: "each time that it lasts, once",
    "lasting": "in each window: what lasts",
    "longest": "in each window: the longest of each group",
    "join": "in each window: two groups that are alike",
}
BOUNDS = {"above": "above", "at_least": "at least", "below": "below", "at_most": "at most"}
ENDS = {"until_below": "and until it is below", "until_above": "and until it is above"}
EQUIVALENCES = {
    "": "usual",
    "equal": "is equal",
    "any": "is any that counts",
    "increasing": "is no smaller",
    "decreasing": "is no larger",
    "bounded": "differs by at most",
    "relative": "differs by at most the share",
    "quantised": "is in the same step of",
}
WINDOW = {"time_s": 3600, "slide_s": 60}


class ReadingsForm:
    """The fields of a query over readings."""

    asks_probability: ClassVar[bool] = False

    def __init__(self, fields: DocumentFields, streams: Sequence[str]) -> None:
        self._fields, self._streams = fields, streams

    @classmethod
    def shows(cls, document: Mapping[str, Any]) -> bool:
        """Whether a draft can be shown by it, which need be no query yet."""
        return isinstance(document.get("coalesce"), dict) and document.get("within") is None

    @property
    def _question(self) -> str:
        document = self._fields.document
        if "join" in document or "longest" in document:
            return "join" if "join" in document else "longest"
        return "lasting" if self._fields.get("coalesce", "window") is not None else SPELL

    def draw(self) -> None:
        """Draw the fields."""
        fields, question = self._fields, self._question
        with ui.element("div").classes("row"):
            known = str(fields.get("coalesce", "from") or "")
            offered = {each: each for each in dict.fromkeys([known, *self._streams])}
            with fields.at("Stream", "coalesce", "from"):
                choice("Stream", offered, known, lambda stream: fields.put("coalesce", "from", value=stream))
            fields.text("What is read", "coalesce", "value")
            by = fields.get("coalesce", "by")
            shown = "sensor" if by is None else ", ".join(by) if isinstance(by, list) else str(by)
            with fields.at("A group is", "coalesce", "by"):
                text_field("A group is (sensor, attributes.room)", shown, self._take_groups)
        with ui.element("div").classes("row"):
            for name, words in {**BOUNDS, **(ENDS if question == SPELL else {})}.items():
                fields.number(words, "coalesce", "where", name)
        self._equivalence()
        with ui.element("div").classes("query-edge stack"):
            choice("Asks", QUESTIONS, question, self._ask)
            with ui.element("div").classes("row"):
                self._particulars(question)

    def _equivalence(self) -> None:
        known = self._fields.get("coalesce", "equivalence")
        [(kind, amount)] = known.items() if isinstance(known, dict) and len(known) == 1 else [(str(known or ""), None)]
        with ui.element("div").classes("row"):
            with self._fields.at("It goes on while the next value", "coalesce", "equivalence"):
                choice("It goes on while the next value", EQUIVALENCES, kind, self._take_equivalence)
            if amount is not None:
                put = self._fields.put
                number_field("amount", amount, lambda number: put("coalesce", "equivalence", kind, value=number or 0))
            self._fields.number("a reading is good for, s", "coalesce", "hold_s")

    def _particulars(self, question: str) -> None:
        number = self._fields.number
        if question in {SPELL, "lasting"}:
            number("for at least, s", "lasting_s")
        if question == SPELL:
            number("with probability at least", "threshold")
            return
        if question == "join":
            number("both for at least, s", "join", "lasting_s")
            number("values differ by at most", "join", "within")
        number("a window is, s", "coalesce", "window", "time_s")
        number("there is one every, s", "coalesce", "window", "slide_s")

    def _take_groups(self, text: str) -> None:
        names = names_in(text)
        self._fields.put("coalesce", "by", value=None if names == ["sensor"] else names)

    def _take_equivalence(self, kind: str) -> None:
        value: Any = {kind: 1} if kind in {"bounded", "relative", "quantised"} else kind or None
        self._fields.put("coalesce", "equivalence", value=value, redraw=True)

    def _ask(self, question: str) -> None:
        """Ask something else of the same readings."""
        document = self._fields.document
        lasting_s = document.get("lasting_s") or self._fields.get("join", "lasting_s") or 60
        for name in ("longest", "lasting_s", "join", "threshold"):
            document.pop(name, None)
        if question == SPELL:
            document["coalesce"].pop("window", None)
        else:
            document["coalesce"].setdefault("window", dict(WINDOW))
            self._without_ends(document["coalesce"])
        asked: dict[str, Any] = {"longest": True} if question == "longest" else {"lasting_s": lasting_s}
        document.update({"join": asked} if question == "join" else asked)
        self._fields.changed()

    @staticmethod
    def _without_ends(coalesce: dict[str, Any]) -> None:
        """Take away what only spells have."""
        where = coalesce.get("where")
        if isinstance(where, dict):
            coalesce["where"] = {name: limit for name, limit in where.items() if name not in ENDS}
