"""Sensors as somebody writes them over REST, and the templates that their documents name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

from msgspec import Meta, Struct

from coincide import Histogram
from coincide.clocks import Clock
from coincide.clocks.template_forms import template_beside
from coincide.errors import HistogramError, PlaceError
from coincide.templates.clocked import clock_of, own_of
from coincide.wire.declarations.clock_record import ClockId
from coincide.wire.declarations.names import FORMS_IN_WORDS, RegisteredName, SensorId
from coincide.wire.declarations.sensor_record import Particulars, place_said
from coincide.wire.fields import LONGEST_NAME
from services.common.fault_sentences import shortened
from services.common.http.problem import Problem
from services.common.http.strict_requests import document_as
from services.ingest.registry.named_templates import unclocked_template
from services.ingest.registry.sensors import Sensor, particulars_of, refuse_unfit_template
from services.ingest.registry.snapshot import Registry
from services.ingest.verdicts import Refused

MOST_STREAMS = 64


class _Identified(Struct):
    id: SensorId


class SensorDocument(Particulars, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A sensor as somebody writes it: a template is a form as in sensors.yaml, a name, or the id of one in use.

    Beside a clock each stream has what is the sensor's `own`, and `template` if the whole was learnt.
    """

    id: SensorId | None = None
    area: RegisteredName
    clock: ClockId | None = None
    streams: Annotated[dict[RegisteredName, str | dict[str, Any]], Meta(min_length=1, max_length=MOST_STREAMS)]


def sensor_in(
    sensor_id: str, document: object, registry: Registry, known: Mapping[str, Histogram] | None = None
) -> Sensor:
    """Return the sensor that a document describes, with `known` templates by their names; a `Problem` refuses it.

    It names those of its templates that are registered under the name that the document gives.
    """
    document_as(_Identified, {"id": sensor_id}, "sensor", FORMS_IN_WORDS)
    _refuse_slips_of_place(document)
    declared = document_as(SensorDocument, document, "sensor", FORMS_IN_WORDS)
    if declared.id not in {None, sensor_id}:
        raise Problem(422, f"id is {declared.id!r}: the path says {sensor_id!r}")
    read = _Reading(registry, known or {}, _clock(declared.clock, registry))
    streams = {name: read.template(name, form) for name, form in declared.streams.items()}
    named = registry.templates
    names = {
        stream: name
        for stream, name in names_in(declared.streams).items()
        if name in named and named[name].histogram == own_of(streams[stream])
    }
    of_streams, by_name = MappingProxyType(streams), MappingProxyType(names)
    return Sensor(sensor_id, declared.area, of_streams, particulars_of(declared), names=by_name)


def _refuse_slips_of_place(document: object) -> None:
    """Raise a Problem, 422, that says what to write instead."""
    if not isinstance(document, dict) or document.get("place") is None:
        return
    try:
        place_said(document["place"])
    except PlaceError as error:
        detail = f"the sensor is not usable: {error}"
        raise Problem(422, detail, field=error.field, value=shortened(error.value), allowed=error.allowed) from None


def names_in(streams: Mapping[str, str | dict[str, Any]]) -> dict[str, str]:
    """Return by stream how a document calls what the sensor follows: its template, or beside a clock its own."""
    said = {stream: form.get("own") if isinstance(form, dict) else form for stream, form in streams.items()}
    return {stream: name for stream, name in said.items() if isinstance(name, str)}


def _clock(name: str | None, registry: Registry) -> Clock | None:
    if name is None:
        return None
    if name not in registry.clocks:
        raise Problem(422, f"clock: no clock is registered as {name!r}", field="clock", value=name)
    return registry.clocks[name].clock


@dataclass(frozen=True)
class _Reading:
    """Reads the templates of a sensor."""

    registry: Registry
    known: Mapping[str, Histogram]
    clock: Clock | None

    def template(self, stream: str, form: str | dict[str, Any]) -> Histogram:
        """Return the template that a stream declares; a `Problem` says why it is none."""
        where, streams = f"streams.{stream}", self.registry.streams
        if stream not in streams:
            raise Problem(422, f"{where}: stream {stream!r} is not declared: one of {', '.join(streams)}")
        try:
            template = template_beside(self.clock, form, partial(self._part, where))
            refuse_unfit_template(template, streams[stream], where)
        except HistogramError as error:
            raise Problem(422, f"{where}: {error}") from None
        except Refused as refused:
            raise Problem(422, refused.detail) from None
        return template

    def _part(self, where: str, form: Any) -> Histogram:
        if isinstance(form, str):
            template = _named(where, form, self.registry, self.known)
            if clock_of(template) is not None:
                raise HistogramError("template", form, "a template that is on no clock")
            return template
        return unclocked_template(form)


def _named(where: str, name: str, registry: Registry, known: Mapping[str, Histogram]) -> Histogram:
    if name in known:
        return known[name]
    if name in registry.templates:
        return registry.templates[name].histogram
    found = registry.snapshot.template(name)
    if found is None:
        said = name[:LONGEST_NAME]
        raise Problem(422, f"{where}: no template is named {said!r}, and no registered sensor uses one of that id")
    return found.histogram
