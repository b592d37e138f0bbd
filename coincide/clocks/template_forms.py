"""Templates as people write them, those on a clock among them."""

from __future__ import annotations

from typing import Any

from coincide.clocks.clock import Clock
from coincide.errors import HistogramError
from coincide.templates.histogram import Histogram, histogram_of_form

CLOCK_FIELDS = {"clock", "error", "own", "template"}
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
    missing = {"error", "own"} - form.keys()
    if missing == {"own"} and "template" in form:
        raise HistogramError(
            "own", None, "what is left of the error once the clock is right: a template alone is not enough"
        )
    if missing or not form.keys() <= CLOCK_FIELDS:
        raise HistogramError("form", form, f"a template on a clock takes {TAKES}")
    parts: dict[str, Histogram | None] = {name: _part(form, name) for name in ("error", "own", "template")}
    error, own = parts["error"], parts["own"]
    assert error is not None and own is not None  # noqa: S101, PT018 - neither is missing
    return Clock(form["clock"], error).template(own, parts["template"])


def _part(form: dict[str, Any], name: str) -> Histogram | None:
    if name not in form:
        return None
    try:
        return histogram_of_form(form[name])
    except HistogramError as fault:
        raise HistogramError(f"{name}.{fault.field}", fault.value, fault.allowed) from None
