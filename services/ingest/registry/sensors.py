"""Sensors and their templates, ready for stamping; and how a sensor is written on coincide.sensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Self

import msgspec
from msgspec import Raw, Struct, structs

from coincide import Histogram, Stream
from coincide.clocks import Clock, ClockedHistogram, learnt_whole
from coincide.errors import HistogramError
from coincide.templates.clocked import clock_of, most_buckets, own_of
from coincide.templates.packed import packed, packed_clock, unpacked
from coincide.wire.declarations.sensor_record import Particulars, SensorRecord
from coincide.wire.last_change import UNKNOWN_CHANGE, LastChange
from services.common.resources.resource import action
from services.ingest.verdicts import Reason, Refused

VERSION: Final = 1


class SensorError(ValueError):
    """A sensor that cannot be used; the message says which field, its value and what is allowed."""


NO_PARTICULARS = Particulars()


#: Of the templates of a sensor none of which has one.
NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Sensor:
    """A sensor: the area it stands in, for each stream it reports its template, and what else is said of it.

    `names` has the names of those templates that have one, by stream; of a sensor on a clock, those of its own. All its
    templates are on that clock, or none is. Equal if all of this is; which change brought it about does not matter.
    """

    id: str
    area: str
    streams: Mapping[str, Histogram]
    particulars: Particulars = NO_PARTICULARS
    change: LastChange = field(default=UNKNOWN_CHANGE, compare=False)
    names: Mapping[str, str] = field(default_factory=lambda: NO_NAMES)

    @property
    def clock(self) -> str | None:
        """The clock that it reports by; None if it shares none."""
        return next(map(clock_of, self.streams.values()), None)

    @property
    def templates(self) -> dict[str, Histogram]:
        """Those that its document has, by their names, or their ids where they have none."""
        named = {self.names.get(stream, own_of(each).id): own_of(each) for stream, each in self.streams.items()}
        wholes = (whole_of(each) for each in self.streams.values())
        return named | {whole.id: whole for whole in wholes if whole is not None}

    def with_template(self, stream: str, template: Histogram, own: Histogram | None = None) -> Self:
        """Return the sensor with a template of its own for a stream.

        On a clock it is the whole error. What is the sensor's own stays, if `own` does not replace it.
        """
        streams = {**self.streams, stream: template}
        present = self.streams.get(stream)
        if isinstance(present, ClockedHistogram):
            streams[stream] = Clock(present.clock, present.error).template(own or present.own, template)
            if own is None:
                return replace(self, streams=MappingProxyType(streams))
        names = MappingProxyType({name: each for name, each in self.names.items() if name != stream})
        return replace(self, streams=MappingProxyType(streams), names=names)

    @property
    def document(self) -> dict[str, Any]:
        """What declares it, its templates by their names, or their ids where they have none."""
        streams = {stream: self.declared(stream) for stream in self.streams}
        clock = {} if self.clock is None else {"clock": self.clock}
        return {"id": self.id, "area": self.area, **clock, "streams": streams, **msgspec.to_builtins(self.particulars)}

    def declared(self, stream: str) -> str | dict[str, str]:
        """Return how its document declares the template of a stream."""
        template = self.streams[stream]
        name = self.names.get(stream, own_of(template).id)
        whole = whole_of(template)
        if self.clock is None:
            return name
        return {"own": name} if whole is None else {"own": name, "template": whole.id}

    def to_record(self) -> bytes:
        """Return the value of this sensor's record on coincide.sensors, the same bytes for equal sensors."""
        said = self.particulars
        record = SensorRecord(
            v=VERSION,
            sensor=self.id,
            area=self.area,
            streams={name: template_of(self.streams[name]).json for name in sorted(self.streams)},
            templates=dict(sorted(self.names.items())),
            model=said.model,
            place=said.place,
            labels=dict(sorted(said.labels.items())),
            expect_every_s=said.expect_every_s,
            **structs.asdict(self.change),
        )
        return msgspec.json.encode(record)

    @classmethod
    def from_record(cls, value: bytes) -> Self:
        """Read what `to_record` wrote; raises `SensorError`."""
        try:
            record = _decode(value)
            streams = {name: histogram_in(bytes(template)) for name, template in record.streams.items()}
        except (msgspec.MsgspecError, HistogramError, UnicodeDecodeError, RecursionError) as error:
            raise SensorError(f"not a sensor record: {error}") from error
        change = LastChange(record.version, record.changed_at_us, record.changed_by)
        names = MappingProxyType(record.templates) if record.templates else NO_NAMES
        return cls(record.sensor, record.area, MappingProxyType(streams), particulars_of(record), change, names)


def audited_change(sensor_id: str, before: Sensor | None, after: Sensor | None) -> tuple[str, str, Any, Any]:
    """Return what the audit trail tells of a change: the action, its subject, and the sensor before and after it."""
    done = action(before, after, "replaced")
    return f"sensor.{done}", sensor_id, _told(before, after), _told(after, before)


def _told(sensor: Sensor | None, other: Sensor | None) -> dict[str, Any] | None:
    """Return a sensor's document, with those templates in full that the other one has not: an id alone is lost soon."""
    if sensor is None:
        return None
    known = other.templates if other else {}
    templates = {name: each.to_json() for name, each in sensor.templates.items() if known.get(name) != each}
    return {**sensor.document, "templates": templates} if templates else sensor.document


def particulars_of(said: Particulars) -> Particulars:
    """Return what an extension of `Particulars` has of them; the same object for all who have none."""
    particulars = Particulars(
        model=said.model, place=said.place, labels=said.labels, expect_every_s=said.expect_every_s
    )
    return particulars if particulars != NO_PARTICULARS else NO_PARTICULARS


_decode = msgspec.json.Decoder(SensorRecord).decode
CACHED_TEMPLATES = 4096


@lru_cache(CACHED_TEMPLATES)
def whole_of(template: Histogram) -> Histogram | None:
    """Return the whole error of a template on a clock, where it was learnt as a whole."""
    return learnt_whole(template) if isinstance(template, ClockedHistogram) else None


# Sensors of one model have one template, and making it costs ten times what the rest of a record does.
@lru_cache(CACHED_TEMPLATES)
def histogram_in(template: bytes) -> Histogram:
    """Return the histogram that JSON describes; raises `HistogramError`, or msgspec's errors."""
    return Histogram.from_json(msgspec.json.decode(template))


MOST_BUCKETS = 64
FURTHEST_REACH_S = 86_400.0


class Template(Struct, frozen=True, eq=False, gc=False):
    """A histogram of (occurrence - detected_at), kept small, for every sensor may have its own; see `template_of`.

    `content` is the packed histogram. `name` is what its sensor calls it.
    """

    id: str
    content: tuple[bytes, ...]
    name: str | None = None

    @property
    def histogram(self) -> Histogram:
        """Return the histogram, made again or remembered."""
        return _histogram_in(self.content)

    @property
    def clock(self) -> str | None:
        """The clock it is on; None if it is on none."""
        return packed_clock(self.content)

    @property
    def json(self) -> Raw:
        """Return what stands in frames, made again or remembered."""
        return _json_of(self.content)


@lru_cache(CACHED_TEMPLATES)
def template_of(histogram: Histogram, name: str | None = None) -> Template:
    """Return the template of `histogram`; of equal ones the same one, unless there are thousands."""
    return Template(histogram.id, packed(histogram), name)


_histogram_in = lru_cache(CACHED_TEMPLATES)(unpacked)


@lru_cache(CACHED_TEMPLATES)
def _json_of(content: tuple[bytes, ...]) -> Raw:
    return Raw(msgspec.json.encode(_histogram_in(content).to_json()))


def refuse_unfit_template(histogram: Histogram, stream: Stream, field: str) -> None:
    """Refuse (`template_too_long`) what the stream's declaration, and so every buffer's retention, has no room for."""
    if histogram.length_s > stream.longest_template_s:
        allowed = f"at most {stream.longest_template_s:g} s for stream {stream.name}, as declared"
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, histogram.length_s, allowed)
    refuse_too_large_template(histogram, field)


def refuse_too_large_template(histogram: Histogram, field: str) -> None:
    """Refuse (`template_too_long`) what no stream has room for."""
    if most_buckets(histogram) > MOST_BUCKETS:
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, most_buckets(histogram), f"at most {MOST_BUCKETS} buckets")
    reach_s = max(-histogram.earliest_s, histogram.latest_s)
    if reach_s > FURTHEST_REACH_S:
        raise Refused(Reason.TEMPLATE_TOO_LONG, field, reach_s, f"within {FURTHEST_REACH_S:g} s of detected_at")
