"""GET /v1/sensors, /v1/sensors/{id} and /v1/templates/{id}: what the registry holds now."""

from bisect import bisect_right
from typing import Annotated, Self

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from services.common.pages import PageParameters, decode_name_cursor, encode_cursor, page_limit
from services.common.problem import Problem
from services.ingest.registry.sensors import NAME_CHARACTERS
from services.ingest.registry.snapshot import Registry, Stamp

PAGE_ITEMS, PAGE_ITEMS_MAX = 100, 1000
SENSORS = "sensors"  # what a cursor of theirs is for


class TemplateBody(BaseModel):
    """A template: the distribution of (occurrence - reported time)."""

    id: str = Field(description="t- and a hash of the content")
    edges_s: list[float] = Field(description="bucket bounds in seconds, one more than there are buckets")
    mass: list[float] = Field(description="probability of each bucket, summing to 1")


class SensorBody(BaseModel):
    """A sensor: its area and the template id of each stream it reports."""

    id: str
    area: str
    streams: dict[str, str] = Field(description="template id by stream")

    @classmethod
    def of(cls, stamps: tuple[Stamp, ...]) -> Self:
        """Return the body that shows the sensor with these stamps."""
        streams = {stamp.stream: stamp.template.id for stamp in stamps}
        return cls(id=stamps[0].sensor, area=stamps[0].area, streams=streams)


class SensorPage(BaseModel):
    """A page of sensors in the order of their ids."""

    items: list[SensorBody]
    next_cursor: str | None = Field(description="Ask with it as `cursor` for the next page; null on the last.")


def sensors_router(registry: Registry) -> APIRouter:
    """Return the routes that show the registry."""
    router = APIRouter(prefix="/v1", tags=["sensors"])

    @router.get("/sensors", summary="List sensors")
    async def list_sensors(wanted: Annotated[PageParameters, Query()]) -> SensorPage:
        """Return sensors by id; a page begins behind the last sensor of the one before, whatever came or went."""
        stamps, ids = registry.snapshot.stamps, registry.snapshot.ids
        limit = page_limit(wanted.limit, PAGE_ITEMS, PAGE_ITEMS_MAX)
        start = bisect_right(ids, decode_name_cursor(SENSORS, wanted.cursor) or "")
        chosen = ids[start : start + limit]
        more = encode_cursor(SENSORS, chosen[-1]) if start + limit < len(ids) else None
        return SensorPage(items=[SensorBody.of(stamps[id_]) for id_ in chosen], next_cursor=more)

    @router.get("/sensors/{sensor_id}", summary="Show one sensor", responses={404: {"description": "No such sensor"}})
    async def show_sensor(sensor_id: Annotated[str, Path(max_length=NAME_CHARACTERS)]) -> SensorBody:
        stamps = registry.snapshot.stamps.get(sensor_id)
        if stamps is None:
            raise Problem(404, f"no sensor {sensor_id!r} is registered")
        return SensorBody.of(stamps)

    @router.get(
        "/templates/{template_id}", summary="Show one template", responses={404: {"description": "No such template"}}
    )
    def show_template(template_id: Annotated[str, Path(max_length=NAME_CHARACTERS)]) -> TemplateBody:
        """Return a template that a registered sensor uses; an event's own uncertainty is in its frame only."""
        template = registry.snapshot.template(template_id)
        if template is None:
            raise Problem(404, f"no registered sensor uses a template {template_id!r}")
        return TemplateBody(id=template.id, **template.histogram.to_json())

    return router
