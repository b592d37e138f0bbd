"""Templates as people write them, those on a clock among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coincide.clocks.clock import Clock, summed_where_alike
from coincide.errors import HistogramError
from coincide.templates.histogram import Histogram, histogram_of_form

Part = Callable[[Any], Histogram]
"""Reads a form of a template that is on no clock, or whatever else may stand for one."""

BESIDE_A_CLOCK = {"own", "template"}
TAKES = (
    "clock, error and own: the clock's name and error, and what is left of the sensor's error within it; and template "
    "if the whole was learnt"
)


def template_of_form(form: object) -> Histogram:
    """Return the template that `form`, read from JSON or YAML, describes; raise HistogramError if it describes none.

    It is a form of `histogram_of_form`. Or it has the `clock` by which the sensor reports, the clock's `error`, what is
    the sensor's `own`, and the `template` if that was learnt as a whole; these three are forms themselves.

    Examples
    --------
    >>> template_of_form({"uniform": [-1, 1]})
    Histogram(edges_s=[-1.0, 1.0], mass=[1.0])
    >>> template = template_of_form({"clock": "gw-7", "error": {"uniform": [-30, 30]}, "own": {"uniform": [-1, 1]}})
    >>> template.clock, template.latest_s
    ('gw-7', 31.0)
    """
    if not isinstance(form, dict) or "clock" not in form:
        return histogram_of_form(form)
    if "edges_s" in form:  # as `to_json` writes it
        return Histogram.from_json(form)
    if "error" not in form or not form.keys() <= {"clock", "error"} | BESIDE_A_CLOCK:
        raise HistogramError("form", form, f"a template on a clock takes {TAKES}")
    clock = Clock(form["clock"], read_part(form, "error", histogram_of_form))
    beside = {name: part for name, part in form.items() if name not in {"clock", "error"}}
    return template_beside(clock, beside, histogram_of_form)


def template_beside(clock: Clock | None, form: Any, read: Part) -> Histogram:
    """Return the template that `form` describes beside the clock of its sensor; beside none it is what `read` reads.

    Beside a clock it has what is the sensor's `own`, and the `template` if that was learnt as a whole. HistogramError
    says what is wrong.

    Examples
    --------
    >>> gateway = Clock("gw-7", Histogram.uniform(-30, 30))
    >>> template_beside(gateway, {"own": {"uniform": [-1, 1]}}, histogram_of_form).latest_s
    31.0
    >>> template_beside(gateway, {"uniform": [-1, 1]}, histogram_of_form)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    coincide.errors.HistogramError: own is None: what is left of the error once the clock is right: a template alone ...
    """
    if clock is None:
        if isinstance(form, dict) and "own" in form:
            raise HistogramError("own", form["own"], "nothing: own is said beside a clock, and the sensor has none")
        return read(form)
    if not isinstance(form, dict) or "own" not in form:
        allowed = "what is left of the error once the clock is right: a template alone is not enough"
        raise HistogramError("own", None, allowed)
    if not form.keys() <= BESIDE_A_CLOCK:
        raise HistogramError("form", form, "beside a clock own, and template if the whole was learnt")
    own = read_part(form, "own", read)
    return summed_where_alike(clock.template(own, read_part(form, "template", read) if "template" in form else None))


def clocks_of_forms(forms: object) -> dict[str, Clock]:
    """Return the clocks that sensors share, by their names, as a file with sensors declares them: each has its error.

    Examples
    --------
    >>> clocks_of_forms({"gw-7": {"error": {"uniform": [-30, 30]}, "label": "on the pier"}})["gw-7"].error.latest_s
    30.0
    """
    if not isinstance(forms, dict):
        raise HistogramError("clocks", forms, "clocks by their names")
    return {str(name): Clock(str(name), _error_of(str(name), form)) for name, form in forms.items()}


def _error_of(name: str, form: object) -> Histogram:
    if not isinstance(form, dict) or "error" not in form:
        raise HistogramError(f"clocks.{name}", form, "an object that has the clock's error")
    return read_part(form, "error", histogram_of_form)


def read_part(form: dict[str, Any], name: str, read: Part) -> Histogram:
    """Return what a field of a form describes; a HistogramError names the field."""
    try:
        return read(form[name])
    except HistogramError as fault:
        raise HistogramError(f"{name}.{fault.field}", fault.value, fault.allowed) from None
