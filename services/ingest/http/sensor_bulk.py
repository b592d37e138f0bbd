"""POST /v1/sensors: many sensors at once, each judged by itself; the rest goes on where one is refused."""

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from msgspec import Meta, Struct
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from coincide import Histogram
from coincide.clocks.template_forms import BESIDE_A_CLOCK
from coincide.errors import HistogramError
from coincide.wire.declarations.clock_record import ClockId
from coincide.wire.declarations.names import FORMS_IN_WORDS
from services.common.access.who import Author
from services.common.http.problem import Problem
from services.common.http.strict_requests import document_as
from services.common.resources.routes import JSON
from services.ingest.http.request_limits import JsonBody
from services.ingest.registry.named_templates import unclocked_template
from services.ingest.registry.registered_clocks import ClockDocument, RegisteredClock
from services.ingest.registry.sensor_changes import MOST_AT_ONCE, SensorChanges, SensorVerdict, WantedSensor
from services.ingest.registry.sensor_documents import sensor_in
from services.ingest.settings import IngestSettings


class _Bulk(Struct, forbid_unknown_fields=True):
    sensors: Annotated[list[Any], Meta(min_length=1, max_length=MOST_AT_ONCE)]
    templates: dict[str, dict[str, Any]] = {}
    clocks: dict[ClockId, ClockDocument] = {}


class BulkVerdict(BaseModel):
    """What became of one sensor of the list."""

    index: int = Field(description="its place in the list, from 0")
    id: str | None
    status: Literal["created", "replaced", "unchanged", "refused", "unacknowledged"]
    version: int | None = Field(description="the sensor's version now")
    detail: str | None = Field(description="why it was refused, or may not have been written")


class BulkBody(BaseModel):
    """What became of each sensor, in the order of the list."""

    items: list[BulkVerdict]


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["sensors"],
    "properties": {
        "templates": {"type": "object", "description": "Forms of templates by names that the sensors use."},
        "clocks": {
            "type": "object",
            "description": "Clocks by their ids, as GET /v1/sensors?format=yaml has them. None is registered by this: "
            "a sensor on one that is not registered so is refused.",
        },
        "sensors": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_AT_ONCE,
            "items": {"description": "A sensor with its id, as PUT /v1/sensors/{sensor_id} takes it."},  # else refused
        },
    },
}


def sensor_bulk_router(changes: SensorChanges, settings: IngestSettings) -> APIRouter:
    """Return the route that takes many sensors."""
    router = APIRouter(prefix="/v1/sensors", tags=["sensors"])
    content = Annotated[Any, Depends(JsonBody(settings))]

    @router.post(
        "",
        summary="Create or replace many sensors",
        responses={
            413: {"description": "The body is too long"},
            415: {"description": "The body is no JSON by its Content-Type"},
            422: {"description": "The list is not usable"},
            503: {"model": BulkBody, "description": "The log did not acknowledge all; repeat the whole list"},
        },
        openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": _SCHEMA}}}},
    )
    async def post_sensors(
        document: content,
        who: Author,
        response: Response,
        overwrite: Annotated[bool, Query(description="Also replace sensors that are there and differ.")] = False,
    ) -> BulkBody:
        """Answer for each once it is stamped by. One that is there and differs is refused without `overwrite`."""
        wanted, refused = await run_in_threadpool(_read, document, changes)
        outcomes = await changes.make_many(wanted, overwrite=overwrite, who=who)
        verdicts = [*refused, *(_verdict(each) for each in outcomes)]
        if any(each.status == "unacknowledged" for each in verdicts):
            response.status_code, response.headers["Retry-After"] = 503, str(settings.retry_after_s)
        return BulkBody(items=sorted(verdicts, key=lambda each: each.index))

    return router


def _verdict(outcome: SensorVerdict) -> BulkVerdict:
    status, detail = outcome.status, outcome.detail
    return BulkVerdict(
        index=outcome.wanted.index, id=outcome.wanted.sensor.id, status=status, version=outcome.version, detail=detail
    )


def _read(document: object, changes: SensorChanges) -> tuple[list[WantedSensor], list[BulkVerdict]]:
    """Return the sensors that can be made, and a verdict on each that cannot."""
    bulk = document_as(_Bulk, document, "list", FORMS_IN_WORDS)
    templates, faults = _templates(bulk.templates)
    clock_faults = _clock_faults(bulk.clocks, changes.registry.clocks)
    named = changes.registry.templates
    elsewhere = _named(bulk.sensors) - bulk.templates.keys()
    in_use = changes.registry.snapshot.templates_of(elsewhere - named.keys())
    found = {id_: each.histogram for id_, each in in_use.items()}
    found |= {name: named[name].histogram for name in elsewhere & named.keys()}
    templates = found | templates
    known = templates.keys() | faults.keys()
    wanted, refused, ids = list[WantedSensor](), list[BulkVerdict](), set[str]()
    for index, said in enumerate(bulk.sensors):
        id_ = said.get("id") if isinstance(said, dict) else None
        try:
            _refuse_faulty(said, ids, known, faults)
            _refuse_other_clock(said, clock_faults)
            wanted.append(WantedSensor(index, sensor_in(said["id"], said, changes.registry, templates)))
            ids.add(said["id"])
        except Problem as problem:
            shown = id_ if isinstance(id_, str) else None
            refused.append(BulkVerdict(index=index, id=shown, status="refused", version=None, detail=problem.detail))
    return wanted, refused


def _templates(forms: Mapping[str, dict[str, Any]]) -> tuple[dict[str, Histogram], dict[str, str]]:
    """Return the templates by their names, and what is wrong with the others."""
    templates, faults = dict[str, Histogram](), dict[str, str]()
    for name, form in forms.items():
        try:
            templates[name] = unclocked_template(form)
        except HistogramError as error:
            faults[name] = str(error)
    return templates, faults


def _clock_faults(said: Mapping[str, ClockDocument], registered: Mapping[str, RegisteredClock]) -> dict[str, str]:
    """Return why sensors cannot be on clocks of the list: these are not as the registry has them."""
    faults = dict[str, str]()
    for name, document in said.items():
        try:
            clock = RegisteredClock.of_document(name, document)
        except HistogramError as error:
            faults[name] = str(error)
            continue
        if name not in registered:
            faults[name] = f"it is not registered: PUT /v1/clocks/{name} first"
        elif registered[name].error != clock.error:
            faults[name] = f"its error is another one than that of the registry: PUT /v1/clocks/{name} first"
    return faults


def _refuse_other_clock(said: Mapping[str, Any], faults: Mapping[str, str]) -> None:
    clock = said.get("clock")
    if isinstance(clock, str) and clock in faults:
        raise Problem(422, f"clock: {clock!r}: {faults[clock]}")


def _names(said: object) -> dict[str, str]:
    """Return the names of templates that a sensor uses, by where it says so: a stream, or a part of one."""
    streams = said.get("streams") if isinstance(said, dict) else None
    found: dict[str, object] = {}
    for stream, form in streams.items() if isinstance(streams, dict) else ():
        parts = {f"{stream}.{part}": form.get(part) for part in BESIDE_A_CLOCK} if isinstance(form, dict) else {}
        found |= {stream: form, **parts}
    return {where: name for where, name in found.items() if isinstance(name, str)}


def _named(sensors: Iterable[object]) -> set[str]:
    return {name for each in sensors for name in _names(each).values()}


def _refuse_faulty(said: object, ids: Collection[str], known: Collection[str], faults: Mapping[str, str]) -> None:
    """Raise a Problem, 422, for what the rest of the list makes wrong: an id twice, a template that is none."""
    id_ = said.get("id") if isinstance(said, dict) else None
    if not isinstance(id_, str) or id_ in ids:
        raise Problem(422, "id is missing, no text, or that of a sensor before it in the list")
    for where, name in _names(said).items():
        if name not in known:  # found here for all at once: to look for one is to look at every sensor
            raise Problem(422, f"streams.{where}: neither the list nor the registry has a template {name[:128]!r}")
        if name in faults:
            raise Problem(422, f"streams.{where}: template {name[:128]!r}: {faults[name]}")
