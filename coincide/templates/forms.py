"""The forms in which a person writes a template: in a file of sensors, or in one of templates by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coincide.errors import HistogramError
from coincide.templates.histogram import Histogram

#: What each form takes; `edges_s` together with `mass` is a form of its own.
PARAMETERS = {
    "uniform": "[earliest, latest] in seconds",
    "normal": '{"sigma_s": seconds}, and "buckets" if there are to be more than 8',
    "latency": "[[shortest, longest, probability], ...] in seconds",
    "point": "true",
}
ALLOWED = f"one of {', '.join(PARAMETERS)}, or edges_s with mass"


def histogram_of_form(form: object) -> Histogram:
    """Return the template that `form`, read from JSON or YAML, describes; raise HistogramError if it describes none.

    It has `edges_s` and `mass`, or one of `uniform`, `normal`, `latency` and `point` with its parameters.
    """
    if not isinstance(form, dict):
        raise HistogramError("form", form, ALLOWED)
    if form.keys() == {"edges_s", "mass"}:
        return Histogram(form["edges_s"], form["mass"])
    if len(form) != 1 or not form.keys() <= PARAMETERS.keys():
        raise HistogramError("form", form, ALLOWED)
    [(kind, parameters)] = form.items()
    try:
        return _KINDS[kind](parameters)
    except HistogramError:
        raise
    except (TypeError, ValueError):  # of another shape: too few bounds, an unknown parameter
        raise HistogramError(kind, parameters, f"{kind} takes {PARAMETERS[kind]}") from None


def _point(parameter: object) -> Histogram:
    if parameter is not True:
        raise TypeError
    return Histogram.point()


_KINDS: dict[str, Callable[[Any], Histogram]] = {
    "uniform": lambda bounds: Histogram.uniform(*bounds),
    "normal": lambda parameters: Histogram.normal(**parameters),
    "latency": Histogram.from_latency,
    "point": _point,
}
