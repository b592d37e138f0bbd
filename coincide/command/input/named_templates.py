"""The templates that a user gives: a JSON file of named ones, and short forms on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coincide.command.faults import CommandError, shown
from coincide.errors import HistogramError
from coincide.templates.forms import histogram_of_form
from coincide.templates.histogram import Histogram

Templates = Mapping[str, Histogram]


SHORT_FORMS = "a name in the templates file, uniform:LO,HI (seconds), normal:SIGMA or normal:SIGMA,BUCKETS, or point"


def load_templates(path: Path) -> dict[str, Histogram]:
    """Return the templates in `path` by name: an object such as ``{"imb": {"uniform": [-0.05, 0.05]}}``."""
    try:
        named = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_named_once)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    except _NamedTwiceError as error:
        raise CommandError(f"{path}: {error.args[0]!r} is there twice") from None
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path}: no JSON: {error}") from None
    if not isinstance(named, dict):
        raise CommandError(
            f'{path}: an object of templates by name was expected, such as {{"a": {{"uniform": [-1, 1]}}}}'
        )
    return {name: _template(f"{path}: template {name!r}", form) for name, form in named.items()}


class _NamedTwiceError(Exception):
    """A name that an object has twice."""


def _named_once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    obj: dict[str, Any] = {}
    for name, value in fields:
        if name in obj:
            raise _NamedTwiceError(name)
        obj[name] = value
    return obj


def parse_template(text: str, templates: Templates) -> Histogram:
    """Return the template that `text` means: a name in `templates`, or a short form.

    Examples
    --------
    >>> parse_template("uniform:-54,2", {})
    Histogram(edges_s=[-54.0, 2.0], mass=[1.0])
    """
    if text in templates:
        return templates[text]
    kind, _, parameters = text.partition(":")
    where = f"uncertainty {text!r}"
    try:
        numbers = [float(number) for number in parameters.split(",")] if parameters else []
    except ValueError:
        raise CommandError(f"{where}: {SHORT_FORMS}") from None
    if (kind, len(numbers)) == ("uniform", 2):
        return _template(where, {"uniform": numbers})
    if (kind, len(numbers)) == ("normal", 1):
        return _template(where, {"normal": {"sigma_s": numbers[0]}})
    if (kind, len(numbers)) == ("normal", 2):
        buckets = int(numbers[1]) if numbers[1].is_integer() else numbers[1]
        return _template(where, {"normal": {"sigma_s": numbers[0], "buckets": buckets}})
    if (kind, len(numbers)) == ("point", 0):
        return Histogram.point()
    raise CommandError(f"{where}: {SHORT_FORMS}")


def _template(where: str, form: object) -> Histogram:
    try:
        return histogram_of_form(form)
    except HistogramError as error:
        raise CommandError(f"{where}: {error.field} is {shown(error.value)}: {error.allowed}") from None
