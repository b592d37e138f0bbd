"""GET /v1/live: matches, their evidence, episodes and alerts as server-sent events, as soon as they are stored."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from coincide.wire.fields import LONGEST_NAME
from services.alerting.api.listings import QUERIES_MAX, QueryIds
from services.alerting.api.result_models import problems
from services.alerting.following.projection import Progress
from services.alerting.live.event_stream import LiveStream
from services.alerting.live.hub import Kind, LiveFilter, LiveHub
from services.alerting.metrics import Metrics
from services.alerting.settings import AlertingSettings
from services.alerting.store.query_rows import unknown_queries
from services.common.http.problem import Problem, try_again

SEQUENCE_MAX = 2**63 - 1


class LiveParameters(BaseModel):
    """Filters of GET /v1/live."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind = Field("matches", description="Which events the stream has.")
    query: QueryIds = Field(
        [],
        description=f"Only what is of these queries: repeated, or with commas between, at most {QUERIES_MAX}. "
        "The answer is 404 if there never was such a query.",
    )
    area: str | None = Field(None, max_length=LONGEST_NAME, description="Only what is in this area.")
    superseded: Literal["false", "any"] = Field(
        "false", description="any: also matches that were superseded already when they were stored, or caught up with."
    )
    last_event_id: int | None = Field(
        None,
        ge=0,
        le=SEQUENCE_MAX,
        description="Stands in for the header where none can be set; 0 begins at the oldest.",
    )


def refuse_unknown(engine: Engine, progress: Progress, queries: Sequence[str]) -> None:
    """Raise a Problem for a query that never was: 404, or 503 as long as that cannot be known.

    A browser's EventSource gives up for good at a 404, but comes back after a 503.
    """
    with engine.connect() as connection:
        unknown = unknown_queries(connection, queries)
    if unknown and (reasons := progress.not_ready_because()):
        raise try_again(f"query: {unknown[0][:100]!r} is not known yet: {reasons[0]}")
    if unknown:
        raise Problem(404, f"query: there is no query {unknown[0][:100]!r}")


def live_router(
    engine: Engine, hub: LiveHub, metrics: Metrics, settings: AlertingSettings, progress: Progress
) -> APIRouter:
    """Return the route of the live stream."""
    router = APIRouter(prefix="/v1/live", tags=["live"])

    @router.get(
        "",
        summary="Matches, their evidence, episodes and alerts as they are stored",
        response_class=Response,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, **problems(404, 422, 503)},
    )
    async def live(
        parameters: Annotated[LiveParameters, Query()],
        last_event_id: Annotated[int | None, Header(ge=0, le=SEQUENCE_MAX)] = None,
    ) -> Response:
        """Stream server-sent events of type `match`; the data is the match as in /v1/matches/{id}.

        An event of type `superseded`, `{"id": ..., "superseded_by": ...}`, takes a match back: a larger one of its
        query follows. It may name a match that was never sent.

        An event of type `evidence` says whether the match whose `id` it has is one event; the data is the record of
        the topic evidence. One that comes before its match does is part of the match, too.

        With kind=episodes or kind=all an event of type `episode` has an episode as it is now, and `episode_retracted`
        takes one back; the data is the episode as in /v1/episodes/{id}. Revisions between two events may be left
        out, the last one never. With kind=alerts or kind=all an event of type `alert` has an alert as it is now; the
        data is the alert as in /v1/alerts/{id}.

        With Last-Event-ID the stream begins after that event, of whichever kind, and misses none; without, at the
        next thing stored. A reader who is too slow is disconnected, and can come back with the last id it has.
        """
        if parameters.query:  # else the database need not be asked, however many come at once
            await run_in_threadpool(refuse_unknown, engine, progress, parameters.query)
        return LiveStream(
            LiveFilter(tuple(parameters.query), parameters.area, parameters.superseded == "any", parameters.kind),
            parameters.last_event_id if last_event_id is None else last_event_id,
            hub,
            engine,
            metrics,
            heartbeat_s=settings.live_heartbeat_s,
            send_timeout_s=settings.live_send_timeout_s,
        )

    return router
