"""GET /v1/sensors, /v1/sensors/{id} and /v1/templates/{id}: what the registry holds now."""

from bisect import bisect_right
from typing import Annotated, Self

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from services.common.problem import Problem
from services.ingest.registry.sensors import NAME_CHARACTERS, Sensor
from services.ingest.registry.snapshot import Registry


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
    def of(cls, sensor: Sensor) -> Self:
        """Return the body that shows `sensor`."""
        streams = {stream: template.id for stream, template in sensor.streams.items()}
        return cls(id=sensor.id, area=sensor.area, streams=streams)


class SensorPage(BaseModel):
    """A page of sensors in the order of their ids."""

    sensors: list[SensorBody]
    next: str | None = Field(description="pass it as `after` to get the next page; null on the last one")


def sensors_router(registry: Registry) -> APIRouter:
    """Return the routes that show the registry."""
    router = APIRouter(prefix="/v1", tags=["sensors"])

    @router.get("/sensors", summary="List sensors")
    async def list_sensors(
        limit: Annotated[int, Query(ge=1, le=1000, description="most sensors on the page")] = 100,
        after: Annotated[str, Query(max_length=NAME_CHARACTERS, description="the `next` of the page before")] = "",
    ) -> SensorPage:
        """Return sensors whose id sorts after `after`."""
        sensors = registry.snapshot.sensors
        ids = list(sensors)
        start = bisect_right(ids, after)
        chosen = ids[start : start + limit]
        more = start + limit < len(ids)
        return SensorPage(sensors=[SensorBody.of(sensors[id_]) for id_ in chosen], next=chosen[-1] if more else None)

    @router.get("/sensors/{sensor_id}", summary="Show one sensor", responses={404: {"description": "No such sensor"}})
    async def show_sensor(sensor_id: Annotated[str, Path(max_length=NAME_CHARACTERS)]) -> SensorBody:
        sensor = registry.snapshot.sensors.get(sensor_id)
        if sensor is None:
            raise Problem(404, f"no sensor {sensor_id!r} is registered")
        return SensorBody.of(sensor)

    @router.get(
        "/templates/{template_id}", summary="Show one template", responses={404: {"description": "No such template"}}
    )
    async def show_template(template_id: Annotated[str, Path(max_length=NAME_CHARACTERS)]) -> TemplateBody:
        """Return a template that a registered sensor uses; an event's own uncertainty is in its frame only."""
        template = registry.snapshot.templates.get(template_id)
        if template is None:
            raise Problem(404, f"no registered sensor uses a template {template_id!r}")
        return TemplateBody(id=template.id, edges_s=template.edges_s.tolist(), mass=template.mass.tolist())

    return router
