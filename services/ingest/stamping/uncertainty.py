"""An event's own uncertainty, in its three forms, to a template."""

from functools import lru_cache

from msgspec import UNSET

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.templates.buckets import rounded_up
from services.ingest.registry.sensors import MOST_BUCKETS, Template
from services.ingest.stamping.posted import ALLOWED, Uncertainty, instant_us
from services.ingest.stamping.verdicts import Reason, Refused

CACHED_TEMPLATES = 4096


def own_template(uncertainty: Uncertainty, detected_at_us: int, sigma_digits: int | None = None) -> Template:
    """Return the template that `uncertainty` means for an event reported at `detected_at_us`.

    A sigma is rounded up to `sigma_digits` significant digits, if given; bounds and histograms are facts and stay.

    Raises `Refused`: `bad_uncertainty`, or what is wrong with one of its times.
    """
    form = _form(uncertainty)
    try:
        if form == {"sigma_s"}:
            sigma_s = float(uncertainty.sigma_s)  # type: ignore[arg-type]  # the form has it
            return _normal(sigma_s if sigma_digits is None or sigma_s <= 0 else rounded_up(sigma_s, sigma_digits))
        if form == {"earliest", "latest"}:
            return _interval(*_offsets_us(uncertainty, detected_at_us))
        if form == {"edges_s", "mass"}:
            edges_s, mass = tuple(uncertainty.edges_s), tuple(uncertainty.mass)  # type: ignore[arg-type]
            if len(mass) > MOST_BUCKETS:  # refused before anything is made of them, or kept
                raise Refused(
                    Reason.TEMPLATE_TOO_LONG, "uncertainty.mass", len(mass), f"at most {MOST_BUCKETS} buckets"
                )
            return _histogram(edges_s, mass)
    except HistogramError as error:
        field = f"uncertainty.{error.field}"
        raise Refused(Reason.BAD_UNCERTAINTY, field, error.value, error.allowed) from None
    raise Refused(Reason.BAD_UNCERTAINTY, "uncertainty", ", ".join(sorted(form)), ALLOWED["uncertainty"])


def _form(uncertainty: Uncertainty) -> set[str]:
    return {name for name in uncertainty.__struct_fields__ if getattr(uncertainty, name) is not UNSET}


def _offsets_us(uncertainty: Uncertainty, detected_at_us: int) -> tuple[int, int]:
    earliest_us = instant_us(uncertainty.earliest, "uncertainty.earliest")  # type: ignore[arg-type]
    latest_us = instant_us(uncertainty.latest, "uncertainty.latest")  # type: ignore[arg-type]
    if latest_us < earliest_us:
        allowed = "a time at or after uncertainty.earliest"
        raise Refused(Reason.BAD_UNCERTAINTY, "uncertainty.latest", uncertainty.latest, allowed)
    return earliest_us - detected_at_us, latest_us - detected_at_us


# The same few clock errors come again and again; making a histogram costs ten times what a detection does.
@lru_cache(CACHED_TEMPLATES)
def _normal(sigma_s: float) -> Template:
    return Template.of(Histogram.normal(sigma_s=sigma_s))


@lru_cache(CACHED_TEMPLATES)
def _interval(earliest_us: int, latest_us: int) -> Template:
    return Template.of(Histogram.uniform(earliest_us / 1e6, latest_us / 1e6))


@lru_cache(CACHED_TEMPLATES)
def _histogram(edges_s: tuple[float, ...], mass: tuple[float, ...]) -> Template:
    return Template.of(Histogram(edges_s, mass))
