"""Stamping: from a posted detection to the one that goes into a frame, with its template and possible times.

The template is the sensor's, or what the event's own uncertainty says in one of three forms.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from msgspec import UNSET, Struct

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.templates.buckets import rounded_up
from services.common.content_ids import content_id
from services.common.settings import Streams
from services.ingest.registry.sensors import MOST_BUCKETS, Template, refuse_unfit_template
from services.ingest.registry.snapshot import Snapshot, Stamp
from services.ingest.stamping.posted import ALLOWED, PostedDetection, Uncertainty, check_attributes, instant_us
from services.ingest.stamping.verdicts import Reason, Refused

CACHED_TEMPLATES = 4096


class StampedDetection(Struct, gc=False):
    """One detection as it stands in a frame; times in microseconds since the epoch, [earliest_us, latest_us] closed."""

    id: str
    sensor: str
    stream: str
    detected_at_us: int
    template: str
    earliest_us: int
    latest_us: int
    attributes: dict[str, Any]


@dataclass(slots=True)
class Stamper:
    """Checks and stamps the detections of one POST, with one snapshot of the registry and one reading of the clock."""

    snapshot: Snapshot
    streams: Streams
    latest_detected_at_us: int
    sigma_digits: int | None

    def stamp(self, posted: PostedDetection) -> tuple[str, Template, StampedDetection]:
        """Return the area, the template and the detection; raises `Refused`."""
        stamp = self._stamp_of(posted)
        at_us = self._detected_at_us(posted)
        attributes: dict[str, Any] = {}
        if posted.attributes is not UNSET:
            attributes = posted.attributes
            check_attributes(attributes)
        template, own = stamp.template, None
        if posted.uncertainty is not UNSET:
            template = own_template(posted.uncertainty, at_us, self.sigma_digits)
            refuse_unfit_template(template.histogram, self.streams[stamp.stream], "uncertainty")
            own = template.id
        identity = posted.id
        if identity is UNSET:
            identity = default_id(posted.sensor, stamp.stream, at_us, attributes, own)
        detection = StampedDetection(
            identity,
            posted.sensor,
            stamp.stream,
            at_us,
            template.id,
            at_us + template.earliest_us,
            at_us + template.latest_us,
            attributes,
        )
        return stamp.area, template, detection

    def _stamp_of(self, posted: PostedDetection) -> Stamp:
        of_sensor = self.snapshot.stamps.get(posted.sensor)
        if of_sensor is None:
            raise Refused(Reason.UNKNOWN_SENSOR, "sensor", posted.sensor, "the id of a registered sensor")
        stamp = of_sensor.get(posted.stream)
        if stamp is None:
            raise self._no_stamp(posted, [name for name in of_sensor if name is not UNSET])
        if stamp.unfit is not None and (
            posted.uncertainty is UNSET or stamp.unfit.reason is not Reason.TEMPLATE_TOO_LONG
        ):
            raise stamp.unfit.with_traceback(None)  # else each raise would lengthen the stored one
        return stamp

    def _no_stamp(self, posted: PostedDetection, reported: list[Any]) -> Refused:
        allowed = f"one of {', '.join(reported)}, which sensor {posted.sensor} reports"
        if posted.stream is UNSET:
            return Refused(Reason.MISSING_FIELD, "stream", None, allowed)
        known = posted.stream in self.streams
        return Refused(Reason.WRONG_STREAM if known else Reason.UNKNOWN_STREAM, "stream", posted.stream, allowed)

    def _detected_at_us(self, posted: PostedDetection) -> int:
        at_us = instant_us(posted.detected_at)
        if at_us > self.latest_detected_at_us:
            allowed = f"at most {self.latest_detected_at_us} microseconds since 1970, as far ahead as is allowed"
            raise Refused(Reason.IN_THE_FUTURE, "detected_at", posted.detected_at, allowed)
        return at_us


def default_id(sensor: str, stream: str, detected_at_us: int, attributes: dict[str, Any], own: str | None) -> str:
    """Return "h-" and 32 hex digits that `content_id` makes from the arguments; `own` is the id of its own template."""
    return content_id("h", (sensor, stream, detected_at_us, attributes, own))


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
            if (buckets := len(mass)) > MOST_BUCKETS:  # refused before anything is made of them, or kept
                allowed = f"at most {MOST_BUCKETS} buckets"
                raise Refused(Reason.TEMPLATE_TOO_LONG, "uncertainty.mass", buckets, allowed)
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
