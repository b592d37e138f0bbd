"""PUT, PATCH and DELETE /v1/sensors/{id}: sensors change while the system runs."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from services.common.access.caller import Caller
from services.common.access.who import Author
from services.common.http.preconditions import IfMatch, Precondition, entity_tag
from services.common.http.problem import Problem
from services.common.http.strict_requests import json_in
from services.ingest.http.request_limits import read_body
from services.ingest.http.sensors_api import SensorBody, SensorId, SensorListing
from services.ingest.registry.sensor_changes import Edit, SensorChanges, patched, removal, replacement
from services.ingest.settings import IngestSettings

JSON, PATCH = "application/json", "application/merge-patch+json"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    412: {"description": "It is not as If-Match or If-None-Match says"},
    413: {"description": "The body is too long"},
    415: {"description": "The body is no JSON by its Content-Type"},
    422: {"description": "The sensor is not usable"},
    428: {"description": "If-Match is missing"},
    503: {"description": "Kafka did not acknowledge the change; it may still take effect"},
}
MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "No such sensor"}}


@dataclass(frozen=True)
class JsonBody:
    """Reads the JSON of a request; a dependency. A `Problem`, 413, 415 or 422, refuses size, type or content."""

    settings: IngestSettings

    async def __call__(self, request: Request) -> Any:
        """Return what the body says."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in {JSON, PATCH}:
            raise Problem(415, f"Content-Type is {kind[:100]!r}: {JSON}")
        return await run_in_threadpool(json_in, await read_body(request, self.settings))  # of a thousand sensors, too


def sensor_changes_router(changes: SensorChanges, settings: IngestSettings) -> APIRouter:
    """Return the routes that change sensors."""
    router = APIRouter(prefix="/v1/sensors", tags=["sensors"])

    document = Annotated[Any, Depends(JsonBody(settings))]

    async def change(response: Response, sensor_id: str, edit: Edit, seen: Precondition, who: Caller) -> SensorBody:
        _, created = await changes.make(sensor_id, edit, seen, who)
        shown = SensorListing(changes.registry.snapshot, changes.registry.health, changes.clock_us())
        body = shown.body(sensor_id)
        response.status_code = 201 if created else 200
        response.headers["ETag"] = entity_tag(body.version)
        return body

    @router.put(
        "/{sensor_id}",
        summary="Create or replace a sensor",
        responses={201: {"model": SensorBody, "description": "Created"}, **PROBLEMS},
        openapi_extra=json_body(JSON),
    )
    async def put_sensor(
        sensor_id: SensorId, content: document, seen: IfMatch, who: Author, response: Response
    ) -> SensorBody:
        """Answer once Kafka has acknowledged it and detections are stamped by it; replacing one needs If-Match."""
        return await change(response, sensor_id, replacement(sensor_id, content, changes.registry), seen, who)

    @router.patch(
        "/{sensor_id}",
        summary="Change parts of a sensor",
        responses={**MISSING, **PROBLEMS},
        openapi_extra=json_body(PATCH),
    )
    async def patch_sensor(
        sensor_id: SensorId, content: document, seen: IfMatch, who: Author, response: Response
    ) -> SensorBody:
        """Apply a JSON merge patch (RFC 7396); a template is a form, or the id of one in use."""
        return await change(response, sensor_id, patched(sensor_id, content, changes.registry), seen, who)

    @router.delete("/{sensor_id}", status_code=204, summary="Remove a sensor", responses={**MISSING, **PROBLEMS})
    async def delete_sensor(sensor_id: SensorId, seen: IfMatch, who: Author) -> None:
        """Remove it: its detections are refused from then on. What it reported before stays."""
        await changes.make(sensor_id, removal, seen, who)

    return router


def json_body(kind: str) -> dict[str, Any]:
    """Return what OpenAPI says of a body that `JsonBody` reads."""
    return {"requestBody": {"required": True, "content": {kind: {"schema": {"type": "object"}}}}}
