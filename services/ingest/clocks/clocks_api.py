"""GET, PUT, PATCH and DELETE /v1/clocks: what sensors share of their errors, changed while the system runs."""

from collections.abc import Collection
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from coincide.wire.fields import LONGEST_NAME
from services.common.http.pages import Page, PageParameters, page_of_names
from services.common.http.problem import Problem
from services.common.resources.routes import Described, add_routes
from services.ingest.http.histogram_body import HistogramBody
from services.ingest.http.request_limits import JsonBody
from services.ingest.registry.followed_changes import FollowedChanges
from services.ingest.registry.registered_clocks import RegisteredClock
from services.ingest.registry.snapshot import Registry
from services.ingest.settings import IngestSettings

CHOSEN = ("clocks",)  # what a cursor holds for


class ErrorBody(HistogramBody):
    """The distribution of the time by which a clock may be slow."""


class RegisteredClockBody(BaseModel):
    """A clock that several sensors report by."""

    id: str
    error: ErrorBody
    label: str | None = Field(None, description="what people call it")
    sensors: int = Field(description="how many sensors are on it")
    behind: int = Field(description="how many of them do not have its error as it is now: a change is not finished")
    version: int = Field(description="how often it was changed; the ETag. 0: it was seeded, and never changed since")
    changed_at_us: int | None = None
    changed_by: str | None = None


class ClockPage(Page[RegisteredClockBody]):
    """A page of clocks in the order of their ids."""


def clocks_router(changes: FollowedChanges[RegisteredClock], settings: IngestSettings) -> APIRouter:
    """Return the routes that show and change clocks."""
    router, registry = APIRouter(prefix="/v1/clocks", tags=["clocks"]), changes.sensors.registry

    @router.get("", summary="List clocks")
    def list_clocks(wanted: Annotated[PageParameters, Query()]) -> ClockPage:
        """Return them by id."""
        page, more = page_of_names(sorted(registry.clocks), wanted, CHOSEN)
        return ClockPage(items=_shown(registry, page), next_cursor=more)

    def show(clock_id: str) -> RegisteredClockBody:
        if clock_id not in registry.clocks:
            raise Problem(404, f"no clock {clock_id!r} is registered")
        return _shown(registry, [clock_id])[0]

    described = Described(
        parameter="clock_id",
        longest=LONGEST_NAME,
        body=RegisteredClockBody,
        show=show,
        effect="detections of the sensors on it are stamped by it",
        form="`error` is a form of a template: by how much the clock may be slow.",
        removal="Remove a clock that no sensor is on.",
        conflict="A sensor is on it, or there are too many",
    )
    add_routes(router, changes.of, changes.make, JsonBody(settings), described)
    return router


def _shown(registry: Registry, ids: Collection[str]) -> list[RegisteredClockBody]:
    """Return those of these clocks that there are. It looks at every sensor once."""
    clocks, uses = registry.clocks, registry.uses_of_clocks(ids)
    return [
        RegisteredClockBody(
            id=each,
            sensors=len(uses[each].sensors),
            behind=len(uses[each].behind),
            **clock.document,
            **msgspec.structs.asdict(clock.change),
        )
        for each in ids
        if (clock := clocks.get(each)) is not None
    ]
