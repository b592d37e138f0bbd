"""Stamping: from a posted detection to the one that goes into a frame, with its template and possible times."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from services.common.declared_streams import Streams
from services.ingest.registry.sensors import Template, refuse_unfit_template
from services.ingest.registry.snapshot import Snapshot, Stamp
from services.ingest.stamping.posted import PostedDetection, check_attributes, instant_us
from services.ingest.stamping.uncertainty import own_template
from services.ingest.stamping.verdicts import Reason, Refused

_canonical = msgspec.json.Encoder(order="deterministic").encode


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
    """Return "h-" and 24 hex digits that depend on the content alone, so that a repeated POST is harmless.

    They are BLAKE2b-96 over the compact JSON array [sensor, stream, detected_at_us, attributes with sorted keys,
    id of the event's own template or null].
    """
    content = _canonical((sensor, stream, detected_at_us, attributes, own))
    return "h-" + blake2b(content, digest_size=12).hexdigest()
