"""Stamping: from a posted detection to the one that goes into a frame, with its template and possible times.

The template is the sensor's, or what the event's own uncertainty says in one of three forms.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from msgspec import UNSET, Raw, structs

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.places import form_of_place
from coincide.places.place import Place
from coincide.templates.buckets import rounded_up
from coincide.wire.content_ids import content_id
from coincide.wire.place_field import PlaceForm
from services.common.access.key_scopes import PostingRights
from services.common.settings import Streams
from services.ingest.registry.sensors import (
    CACHED_TEMPLATES,
    MOST_BUCKETS,
    Template,
    refuse_unfit_template,
    template_of,
)
from services.ingest.registry.snapshot import Snapshot, StreamStamp
from services.ingest.stamping.posted import (
    ALLOWED,
    PostedDetection,
    Uncertainty,
    instant_us,
    posted_payload,
    posted_place,
)
from services.ingest.verdicts import Reason, Refused

#: What becomes of one detection: its stamp, `detected_at_us`, id, and payload.
Stamped = tuple[StreamStamp, int, str, bytes]


@dataclass(slots=True)
class Stamper:
    """Checks and stamps the detections of one POST, with one snapshot of the registry and one reading of the clock.

    `rights` are those of the key that was shown; None may post for all.
    """

    snapshot: Snapshot
    streams: Streams
    latest_detected_at_us: int
    sigma_digits: int | None
    rights: PostingRights | None = None
    _own: dict[tuple[StreamStamp, str], StreamStamp] = field(default_factory=dict)
    _moved: dict[tuple[StreamStamp, Place], StreamStamp] = field(default_factory=dict)

    def stamp(self, posted: PostedDetection) -> Stamped:
        """Return what the detection is in a frame; raises `Refused`."""
        stamp = self._stamp_of(posted)
        at_us = self._detected_at_us(posted)
        payload = posted_payload(posted)
        own = None
        if posted.uncertainty is not UNSET:
            stamp = self._own_stamp(stamp, posted.uncertainty, at_us)
            own = stamp.template.id
        if posted.place is not UNSET:
            stamp = self._moved_stamp(stamp, posted.place)
        identity = posted.id
        if identity is UNSET:
            place = None if posted.place is UNSET else stamp.place
            identity = default_id(stamp.sensor, stamp.stream, at_us, payload, own, place)
        return stamp, at_us, identity, payload

    def _own_stamp(self, stamp: StreamStamp, uncertainty: Uncertainty, at_us: int) -> StreamStamp:
        """Return `stamp` with the event's own template; the same one for the same template, so that rows share it."""
        template = own_template(uncertainty, at_us, self.sigma_digits)
        refuse_unfit_template(template.histogram, self.streams[stamp.stream], "uncertainty")
        own = self._own.get((stamp, template.id))
        if own is None:
            own = self._own[stamp, template.id] = structs.replace(stamp, template=template)
        return own

    def _moved_stamp(self, stamp: StreamStamp, form: PlaceForm) -> StreamStamp:
        """Return `stamp` with the detection's own place; the same one for the same place, so that rows share it."""
        place = posted_place(form)
        moved = self._moved.get((stamp, place))
        if moved is None:
            whole = form_of_place(place)
            if conflict := self.snapshot.places.conflict(stamp.area, whole):
                raise Refused(Reason.BAD_PLACE, "place", form, conflict)
            moved = self._moved[stamp, place] = structs.replace(stamp, place=whole)
        return moved

    def _stamp_of(self, posted: PostedDetection) -> StreamStamp:
        stamps = self.snapshot.stamps.get(posted.sensor)
        if stamps is None or (self.rights is not None and not self.rights.cover(stamps[0].area, posted.sensor)):
            raise _no_sensor_for(posted.sensor, self.rights)
        stamp = stamps[0]
        if posted.stream != stamp.stream and (posted.stream is not UNSET or len(stamps) > 1):
            stamp = self._stamp_among(stamps, posted)
        why = stamp.unfit
        if why is not None and (posted.uncertainty is UNSET or why.reason is not Reason.TEMPLATE_TOO_LONG):
            # A copy: one that is raised keeps alive what it was raised in.
            raise Refused(why.reason, why.field, why.value, why.allowed)
        return stamp

    def _stamp_among(self, stamps: tuple[StreamStamp, ...], posted: PostedDetection) -> StreamStamp:
        for stamp in stamps:
            if stamp.stream == posted.stream:
                return stamp
        reported = ", ".join(stamp.stream for stamp in stamps)
        allowed = f"one of {reported}, which sensor {posted.sensor} reports"
        if posted.stream is UNSET:
            raise Refused(Reason.MISSING_FIELD, "stream", None, allowed)
        known = posted.stream in self.streams
        raise Refused(Reason.WRONG_STREAM if known else Reason.UNKNOWN_STREAM, "stream", posted.stream, allowed)

    def _detected_at_us(self, posted: PostedDetection) -> int:
        at_us = instant_us(posted.detected_at)
        if at_us > self.latest_detected_at_us:
            allowed = f"at most {self.latest_detected_at_us} microseconds since 1970, as far ahead as is allowed"
            raise Refused(Reason.IN_THE_FUTURE, "detected_at", posted.detected_at, allowed)
        return at_us


def _no_sensor_for(sensor: str, rights: PostingRights | None) -> Refused:
    """Return the refusal of a sensor that is not there, or elsewhere: by a key nobody learns which of both."""
    if rights is None:
        return Refused(Reason.UNKNOWN_SENSOR, "sensor", sensor, "the id of a registered sensor")
    if not rights.cover_in_some_area(sensor):
        return Refused(Reason.NOT_PERMITTED, "sensor", sensor, f"what the key may post for: {rights}")
    allowed = f"the id of a registered sensor that the key may post for: {rights}"
    return Refused(Reason.UNKNOWN_SENSOR, "sensor", sensor, allowed)


def default_id(
    sensor: str, stream: str, detected_at_us: int, payload: bytes, own: str | None, place: PlaceForm | None = None
) -> str:
    """Return "h-" and 32 hex digits that `content_id` makes from the arguments.

    `payload` is what `posted_payload` returned, `own` the id of the detection's own template, `place` its own place.
    """
    content = sensor, stream, detected_at_us, Raw(payload), own
    return content_id("h", content if place is None else (*content, place))


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
    return template_of(Histogram.normal(sigma_s=sigma_s))


@lru_cache(CACHED_TEMPLATES)
def _interval(earliest_us: int, latest_us: int) -> Template:
    return template_of(Histogram.uniform(earliest_us / 1e6, latest_us / 1e6))


@lru_cache(CACHED_TEMPLATES)
def _histogram(edges_s: tuple[float, ...], mass: tuple[float, ...]) -> Template:
    return template_of(Histogram(edges_s, mass))
