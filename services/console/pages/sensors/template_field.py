"""A field for a template: one of the usual forms with its numbers, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.shell import choice, text_field

_FORMS = {
    "uniform": "every time between is equally likely",
    "normal": "a Gaussian error",
    "latency": "it reports late",
    "point": "it is exact",
}
_IS_ANY, _MAY_BE_NAMED = "as JSON", "as JSON, or the name or id of a template"
_USUAL: dict[str, Any] = {
    "uniform": {"uniform": [-1, 0]},
    "normal": {"normal": {"sigma_s": 0.5}},
    "latency": {"latency": [[0, 2, 0.9], [2, 5, 0.1]]},
    "point": {"point": True},
    "other": {"edges_s": [-2, 0], "mass": [1]},
}


def usual_form(form: str) -> Any:
    """Return a template of this form with numbers that somebody may begin with."""
    return json.loads(json.dumps(_USUAL[form]))


def template_field(label: str, template: Any, on_change: Callable[[Any], Any], *, may_be_named: bool = True) -> None:
    """Show a template, to be changed; `on_change` hears of each change. It may be the name of one, or its id."""
    forms = {**_FORMS, "other": _MAY_BE_NAMED if may_be_named else _IS_ANY}
    form = next((name for name in _FORMS if isinstance(template, dict) and name in template), "other")

    def take_form(form: str) -> None:
        usual = usual_form(form)
        on_change(usual)
        numbers.clear()
        with numbers:
            _numbers_field(usual, on_change)

    choice(label, forms, form, take_form)
    numbers = ui.element("div")
    with numbers:
        _numbers_field(template, on_change)


def _numbers_field(template: Any, on_change: Callable[[Any], Any]) -> None:
    text = template if isinstance(template, str) else json.dumps(template)
    text_field("in seconds from the report", text, partial(_take, on_change), most=4000)


def _take(on_change: Callable[[Any], Any], text: str) -> None:
    """Take over a template as JSON; what is none is a name, or what ingest refuses with a sentence."""
    try:
        on_change(json.loads(text))
    except ValueError:
        on_change(text.strip())
