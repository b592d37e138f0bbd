"""Clocks as what people change: what a document declares, and what the sensors on one refuse."""

from msgspec import Struct

from coincide.errors import HistogramError
from coincide.wire.declarations.clock_record import ClockId
from coincide.wire.declarations.names import FORMS_IN_WORDS
from services.common.http.problem import Problem
from services.common.http.strict_requests import document_as
from services.common.resources.resource import Resource, at_hand, version_of
from services.ingest.registry.followed_changes import FollowedChanges
from services.ingest.registry.registered_clocks import CLOCKS, ClockDocument, RegisteredClock, audited_clock
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.sensors import refuse_too_large_template
from services.ingest.registry.snapshot import Registry
from services.ingest.registry.template_renewal import record_of
from services.ingest.verdicts import Refused

MOST_CLOCKS = 10_000


class _Identified(Struct):
    id: ClockId


def clock_changes(sensors: SensorChanges) -> FollowedChanges[RegisteredClock]:
    """Return the one way in which ingest changes clocks: detections are stamped by a change once it was made."""
    registry = sensors.registry
    return FollowedChanges(clock_resource(registry), sensors, registry.clocks.keys(), registry.uses_of_clocks)


def clock_resource(registry: Registry) -> Resource[RegisteredClock]:
    """Return what clocks are."""
    return Resource(
        noun="clock",
        topic=CLOCKS,
        not_ready_because=registry.unread,
        present=at_hand(registry.clocks.get),
        version=version_of,
        read=lambda name, document, _: _clock_in(name, document),
        document=lambda clock: clock.document,
        refuse=lambda name, _, wanted: _refuse_impossible(registry, name, wanted),
        record=record_of,
        audited=audited_clock,
    )


def _refuse_impossible(registry: Registry, name: str, wanted: RegisteredClock | None) -> None:
    use = registry.uses_of_clocks({name})[name]
    if wanted is None and use.sensors:
        raise Problem(409, f"{len(use.sensors)} sensors are on the clock {name!r}: change or remove them first")
    if name not in registry.clocks and len(registry.clocks) >= MOST_CLOCKS:
        raise Problem(409, f"there are {len(registry.clocks)} clocks, the most allowed; remove one first")
    if wanted is None:
        return
    try:
        refuse_too_large_template(wanted.error, "error")
        registry.refuse_unfit_use(use, "error", registry.templates, {name: wanted})
    except Refused as refused:
        raise Problem(422, refused.detail) from None
    except HistogramError as error:
        raise Problem(422, f"the clock is not usable: {error}") from None


def _clock_in(name: str, document: object) -> RegisteredClock:
    document_as(_Identified, {"id": name}, "clock", FORMS_IN_WORDS)
    said = document_as(ClockDocument, document, "clock", FORMS_IN_WORDS)
    if said.id not in {None, name}:
        raise Problem(422, f"id is {said.id!r}: the path says {name!r}")
    try:
        return RegisteredClock.of_document(name, said)
    except HistogramError as error:
        raise Problem(422, f"the clock is not usable: {error}", field=error.field) from None
