"""A field for a template: one of the usual forms with a field for each number, and the picture that they give."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from nicegui import ui

from coincide import Histogram
from coincide.clocks.template_forms import template_of_form
from coincide.errors import HistogramError
from services.console.drawing.template_picture import draw_template
from services.console.drawing.template_words import said_of
from services.console.pages.shell import Words, button, choice, number_field, text_field
from services.console.rest.documents import TemplateAnswer

_FORMS = {
    "uniform": "every time between is equally likely",
    "normal": "a Gaussian error",
    "latency": "it reports late",
    "point": "it is exact",
}
_CHOOSE, _IS_ANY, _MAY_BE_NAMED = "choose …", "as JSON", "as JSON, or the name or id of a template"
_USUAL: dict[str, Any] = {
    "uniform": {"uniform": [-1, 0]},
    "normal": {"normal": {"sigma_s": 0.5}},
    "latency": {"latency": [[0, 2, 0.9], [2, 5, 0.1]]},
    "point": {"point": True},
    "other": {"edges_s": [-2, 0], "mass": [1]},
}
_OF_LATENCY = ("Late by at least, s", "and at most, s", "in this share of cases")
_MOST_RANGES = 64


class TemplateField:
    """A template, to be changed; `on_change` hears of each change. It may be the name of one, or its id.

    None is no template yet: whoever draws the field has to see that one is chosen.
    """

    def __init__(
        self, label: str, template: Any, on_change: Callable[[Any], Any], *, may_be_named: bool = True
    ) -> None:
        self._template, self._on_change = json.loads(json.dumps(template)), on_change
        forms = {**({"": _CHOOSE} if template is None else {}), **_FORMS}
        forms["other"] = _MAY_BE_NAMED if may_be_named else _IS_ANY
        choice(label, forms, self._form, self._take_form)
        self._numbers = ui.element("div").classes("stack")
        self._fault = Words("p", "").classes("field-fault").props("role=status")
        self._picture = ui.element("div").classes("row template-row")
        self._draw_numbers()
        self._draw_picture()

    @property
    def _form(self) -> str:
        if self._template is None:
            return ""
        return next((name for name in _FORMS if isinstance(self._template, dict) and name in self._template), "other")

    def _take_form(self, form: str) -> None:
        self._template = json.loads(json.dumps(_USUAL[form])) if form else None
        self._draw_numbers()
        self._changed()

    def _changed(self) -> None:
        self._on_change(self._template)
        self._draw_picture()

    def _draw_numbers(self) -> None:
        self._numbers.clear()
        draw = {"uniform": self._uniform, "normal": self._normal, "latency": self._latency, "other": self._other}
        with self._numbers:
            if self._form in draw:
                draw[self._form]()

    def _uniform(self) -> None:
        with ui.element("div").classes("row"):
            for nth, words in enumerate(("Earliest, s from the report", "Latest, s from the report")):
                self._number(words, self._template["uniform"], nth)
            Words("span", "What happened before the report has a negative time.").classes("soft small")

    def _normal(self) -> None:
        with ui.element("div").classes("row"):
            self._number("Typical error (one sigma), s", self._template["normal"], "sigma_s")
            self._number("Buckets (8 if empty)", self._template["normal"], "buckets")

    def _latency(self) -> None:
        ranges = self._template["latency"]
        for row in ranges:
            with ui.element("div").classes("row"):
                for nth, words in enumerate(_OF_LATENCY):
                    self._number(words, row, nth)
                if len(ranges) > 1:
                    button("✕", partial(self._drop_range, row), label="Without this range")
        if len(ranges) < _MOST_RANGES:
            button("One more range", self._add_range)

    def _other(self) -> None:
        text = self._template if isinstance(self._template, str) else json.dumps(self._template)
        text_field("in seconds from the report", text, self._take_text, most=4000)

    def _number(self, words: str, of: Any, name: Any) -> None:
        value = of.get(name) if isinstance(of, dict) else of[name]
        number_field(words, value, partial(self._put, of, name))

    def _put(self, of: Any, name: Any, number: float | str | None) -> None:
        if number is None and isinstance(of, dict):
            of.pop(name, None)
        else:
            of[name] = number
        self._changed()

    def _add_range(self) -> None:
        last_s = self._template["latency"][-1][1]
        begin_s = last_s if isinstance(last_s, int | float) else 0
        self._template["latency"].append([begin_s, begin_s + 1, 0.1])
        self._draw_numbers()
        self._changed()

    def _drop_range(self, row: list[Any]) -> None:
        self._template["latency"] = [each for each in self._template["latency"] if each is not row]
        self._draw_numbers()
        self._changed()

    def _take_text(self, text: str) -> None:
        """Take over a template as JSON; what is none is a name, or what ingest refuses with a sentence."""
        try:
            self._template = json.loads(text)
        except ValueError:
            self._template = text.strip()
        self._changed()

    def _draw_picture(self) -> None:
        """Draw what the numbers say, or say why they are no template."""
        self._picture.clear()
        self._fault.set_text("")
        if self._template is None or isinstance(self._template, str) or is_beside_clock(self._template):
            return
        try:
            histogram = histogram_of(self._template)
        except HistogramError as error:
            self._fault.set_text(f"This is no template: {error}")
            return
        shape = msgspec.convert({"id": "", **histogram.to_json()}, TemplateAnswer)
        said = f"What it reports {said_of(shape)}."
        with self._picture:
            draw_template(shape.edges_s, shape.mass, said)
            Words("p", said)


def is_beside_clock(form: Any) -> bool:
    """Whether a form says what is a sensor's own beside its clock: its parts may be names, which only ingest knows."""
    return isinstance(form, dict) and "own" in form


def histogram_of(form: Any) -> Histogram:
    """Return the template of a form whose numbers somebody has filled in; `HistogramError` where one is none."""
    for number in _numbers_in(form):
        if number is None or isinstance(number, str):
            raise HistogramError("a field", "empty" if number is None else number, "a number of seconds")
    return template_of_form(form)


def _numbers_in(form: Any) -> list[Any]:
    """Return all that stands where numbers belong."""
    if isinstance(form, dict):
        return [each for value in form.values() for each in _numbers_in(value)]
    return [each for value in form for each in _numbers_in(value)] if isinstance(form, list) else [form]
