"""GET /v1/live: matches and episodes as server-sent events, as soon as they are stored."""

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine

from services.alerting.api.result_models import problems
from services.alerting.live.event_stream import LiveStream
from services.alerting.live.hub import Kind, LiveFilter, LiveHub
from services.alerting.metrics import Metrics
from services.alerting.settings import AlertingSettings

SEQUENCE_MAX = 2**63 - 1


class LiveParameters(BaseModel):
    """Filters of GET /v1/live."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind = Field("matches", description="What to tell of.")
    query: str | None = Field(None, max_length=200, description="Only what is of this query.")
    area: str | None = Field(None, max_length=200, description="Only what is in this area.")
    superseded: Literal["false", "any"] = Field(
        "false", description="any: also matches that were superseded already when they were stored, or caught up with."
    )
    last_event_id: int | None = Field(
        None,
        ge=0,
        le=SEQUENCE_MAX,
        description="Stands in for the header where none can be set; 0 begins at the oldest.",
    )


def live_router(engine: Engine, hub: LiveHub, metrics: Metrics, settings: AlertingSettings) -> APIRouter:
    """Return the route of the live stream."""
    router = APIRouter(prefix="/v1/live", tags=["live"])

    @router.get(
        "",
        summary="Matches and episodes as they are stored",
        response_class=Response,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, **problems(422, 503)},
    )
    async def live(
        parameters: Annotated[LiveParameters, Query()],
        last_event_id: Annotated[int | None, Header(ge=0, le=SEQUENCE_MAX)] = None,
    ) -> Response:
        """Stream server-sent events of type `match`; the data is the match as in /v1/matches/{id}.

        An event of type `superseded`, `{"id": ..., "superseded_by": ...}`, takes a match back: a larger one of its
        query follows. It may name a match that was never sent.

        With kind=episodes or kind=all an event of type `episode` has an episode as it is now, and `episode_retracted`
        takes one back; the data is the episode as in /v1/episodes/{id}. Revisions between two events may be left
        out, the last one never.

        With Last-Event-ID the stream begins after that event, of whichever kind, and misses none; without, at the
        next thing stored. A reader who is too slow is disconnected, and can come back with the last id it has.
        """
        return LiveStream(
            LiveFilter(parameters.query, parameters.area, parameters.superseded == "any", parameters.kind),
            parameters.last_event_id if last_event_id is None else last_event_id,
            hub,
            engine,
            metrics,
            heartbeat_s=settings.live_heartbeat_s,
            send_timeout_s=settings.live_send_timeout_s,
        )

    return router
