"""Clocks as what people change: what a document declares, and what the sensors on one refuse."""

from msgspec import Struct

from coincide.errors import HistogramError
from coincide.wire.declarations.clock_record import ClockId
from coincide.wire.declarations.names import FORMS_IN_WORDS
from services.common.http.problem import Problem
from services.common.http.strict_requests import document_as
from services.ingest.registry.followed_changes import Followed, FollowedChanges
from services.ingest.registry.registered_clocks import CLOCKS, ClockDocument, RegisteredClock
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.sensors import refuse_too_large_template
from services.ingest.registry.snapshot import Registry, Use


class _Identified(Struct):
    id: ClockId


def clock_changes(sensors: SensorChanges) -> FollowedChanges[RegisteredClock]:
    """Return the one way in which ingest changes clocks: detections are stamped by a change once it was made."""
    return FollowedChanges(clocks_of(sensors.registry), sensors)


def clocks_of(registry: Registry) -> Followed[RegisteredClock]:
    """Return what clocks are."""

    def refuse_unfit(use: Use, wanted: RegisteredClock) -> None:
        refuse_too_large_template(wanted.error, "error")
        registry.refuse_unfit_use(use, "error", registry.templates, {wanted.name: wanted})

    return Followed(
        noun="clock",
        topic=CLOCKS,
        is_followed="are on the clock",
        registered=registry.clocks,
        uses=registry.uses_of_clocks,
        read=_clock_in,
        refuse_unfit=refuse_unfit,
    )


def _clock_in(name: str, document: object) -> RegisteredClock:
    document_as(_Identified, {"id": name}, "clock", FORMS_IN_WORDS)
    said = document_as(ClockDocument, document, "clock", FORMS_IN_WORDS)
    if said.id not in {None, name}:
        raise Problem(422, f"id is {said.id!r}: the path says {name!r}")
    try:
        return RegisteredClock.of_document(name, said)
    except HistogramError as error:
        raise Problem(422, f"the clock is not usable: {error}", field=error.field) from None
