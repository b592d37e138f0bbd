"""GET /v1/streams: the declared streams, and how many sensors report each."""

from collections import Counter

from fastapi import APIRouter
from pydantic import BaseModel, Field

from coincide import Stream
from services.common.problem import Problem
from services.ingest.registry.snapshot import Registry


class StreamBody(BaseModel):
    """A stream as it is declared."""

    name: str
    max_delay_s: float = Field(description="how late a detection may come, behind its area, and still be compared")
    longest_template_s: float = Field(description="the longest template that a sensor of it may have")
    sensors: int = Field(description="how many sensors report it")


class StreamList(BaseModel):
    """Every stream, by name."""

    items: list[StreamBody]


def streams_router(registry: Registry) -> APIRouter:
    """Return the routes that show streams."""
    router = APIRouter(prefix="/v1/streams", tags=["streams"])

    @router.get("", summary="Every stream")
    def list_streams() -> StreamList:
        reporting = _reporting(registry)
        return StreamList(items=[_shown(registry.streams[name], reporting[name]) for name in sorted(registry.streams)])

    @router.get("/{name}", summary="One stream", responses={404: {"description": "No such stream"}})
    def show_stream(name: str) -> StreamBody:
        stream = registry.streams.get(name)
        if stream is None:
            raise Problem(404, f"no stream {name[:100]!r} is declared: one of {', '.join(sorted(registry.streams))}")
        return _shown(stream, _reporting(registry)[name])

    return router


def _reporting(registry: Registry) -> Counter[str]:
    return Counter(stamp.stream for stamps in registry.snapshot.stamps.values() for stamp in stamps)


def _shown(stream: Stream, sensors: int) -> StreamBody:
    delay_s, longest_s = stream.max_delay_s, stream.longest_template_s
    return StreamBody(name=stream.name, max_delay_s=delay_s, longest_template_s=longest_s, sensors=sensors)
