"""Templates that must be templates: what is none is refused by its name."""

from __future__ import annotations

from collections.abc import Iterable

from coincide.errors import HistogramError
from coincide.histogram import Histogram


def checked_template(field: str, template: object) -> Histogram:
    """Return `template` if it is a Histogram, else raise HistogramError."""
    if not isinstance(template, Histogram):
        raise HistogramError(field, template, "a Histogram, such as Histogram.uniform(-1, 1)")
    return template


def checked_templates(field: str, templates: object) -> tuple[Histogram, ...]:
    """Return `templates` as a tuple if they are Histograms, else raise HistogramError.

    Examples
    --------
    >>> checked_templates("us", [Histogram.point(), None])
    Traceback (most recent call last):
        ...
    coincide.errors.HistogramError: us[1] is None: a Histogram, such as Histogram.uniform(-1, 1)
    """
    if not isinstance(templates, Iterable):
        raise HistogramError(field, templates, "a list of Histogram")
    listed = tuple(templates)
    if not set(map(type, listed)) <= {Histogram}:  # much faster than to look at each
        for position, template in enumerate(listed):
            checked_template(f"{field}[{position}]", template)
    return listed
