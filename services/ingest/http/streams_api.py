"""GET, PUT, PATCH and DELETE /v1/streams: what is declared, who uses it, and changes while the system runs."""

from typing import Annotated, Literal

import yaml
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from coincide import Stream
from services.common.http.problem import Problem
from services.common.resources.changes import Changes
from services.common.resources.routes import Described, add_routes
from services.ingest.http.request_limits import JsonBody
from services.ingest.http.sensors_api import YAML
from services.ingest.registry.snapshot import Registry
from services.ingest.registry.stream_changes import stream_document
from services.ingest.settings import IngestSettings


class StreamBody(BaseModel):
    """A stream as it is declared."""

    name: str
    max_delay_s: float = Field(description="how late a detection may come, behind its area, and still be compared")
    longest_template_s: float = Field(description="the longest template that a sensor of it may have")
    echo_s: float | None = Field(
        None, description="a report at most so long after another one of its sensor is an echo, and is not joined"
    )
    sensors: int = Field(description="how many sensors report it")
    queries: list[str] = Field(description="the queries that read it")
    version: int = Field(description="how often it was changed; the ETag. 0: it is as the file of streams says")
    changed_at_us: int | None = None
    changed_by: str | None = None


class StreamList(BaseModel):
    """Every stream, by name."""

    items: list[StreamBody]


def streams_router(registry: Registry, changes: Changes[Stream], settings: IngestSettings) -> APIRouter:
    """Return the routes that show and change streams."""
    router = APIRouter(prefix="/v1/streams", tags=["streams"])
    _add_reading(router, registry)
    described = Described(
        parameter="name",
        longest=100,
        body=StreamBody,
        show=lambda name: _shown(registry, name),
        effect="detections posted from then on are judged by it",
        form="The body is as in config/streams.yaml.",
        removal="Remove a stream that no query reads and no sensor reports; what fusion keeps of it is dropped.",
        conflict="A query reads it, a sensor reports it, or too many",
    )
    add_routes(router, changes.of, changes.make, JsonBody(settings), described)
    return router


def _add_reading(router: APIRouter, registry: Registry) -> None:
    @router.get(
        "",
        summary="Every stream",
        response_model=StreamList,
        responses={200: {"content": {YAML: {"schema": {"type": "object"}}}}},
    )
    def list_streams(
        format: Annotated[  # noqa: A002 - as for sensors
            Literal["json", "yaml"], Query(description="yaml: as config/streams.yaml declares them")
        ] = "json",
    ) -> StreamList | Response:
        """Return all, by name."""
        if format == "yaml":
            return Response(_file(registry), media_type=YAML)
        return StreamList(items=[_shown(registry, name) for name in sorted(registry.streams)])


def _shown(registry: Registry, name: str) -> StreamBody:
    streams = registry.streams
    stream, record = streams.get(name), streams.record(name)
    if stream is None:
        raise Problem(404, f"no stream {name[:100]!r} is declared: one of {', '.join(sorted(streams))}")
    return StreamBody(
        name=name,
        max_delay_s=stream.max_delay_s,
        longest_template_s=stream.longest_template_s,
        echo_s=stream.echo_s,
        sensors=registry.reporting()[name],
        queries=streams.readers(name),
        version=streams.version(name),
        changed_at_us=record and record.changed_at_us,
        changed_by=record and record.changed_by,
    )


def _file(registry: Registry) -> str:
    streams = {name: stream_document(stream) for name, stream in sorted(registry.streams.items())}
    return yaml.safe_dump({"streams": streams}, sort_keys=False)
