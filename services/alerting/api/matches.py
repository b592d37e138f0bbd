"""GET /v1/matches: what happened together."""

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import Engine

from services.alerting.api.descriptions import problems
from services.alerting.api.pages import FLAGS, Instant, PageParameters, json_page, read_page
from services.alerting.api.result_models import MatchBody, MatchPage
from services.alerting.settings import Settings
from services.alerting.store import match_rows
from services.alerting.store.match_rows import MatchFilter
from services.alerting.store.sequence import newest_sequence
from services.common.problem import Problem


class MatchParameters(PageParameters):
    """Filters and page of GET /v1/matches."""

    query: str | None = Field(None, max_length=200, description="Only matches of this query.")
    area: str | None = Field(None, max_length=200, description="Only matches in this area.")
    sensor: str | None = Field(None, max_length=200, description="Only matches with a member from this sensor.")
    from_: Instant | None = Field(None, alias="from", description="Only what may have happened at or after this time.")
    to: Instant | None = Field(None, description="Only what may have happened at or before this time.")
    min_probability: float | None = Field(None, ge=0, le=1, description="Only matches at least as probable.")
    superseded: Literal["false", "true", "any"] = Field(
        "false", description="false: only live matches; true: only those that a larger match superseded; any: both."
    )


def matches_router(engine: Engine, settings: Settings) -> APIRouter:
    """Return the routes that read matches."""
    router = APIRouter(prefix="/v1/matches", tags=["matches"])

    @router.get("", response_model=MatchPage, responses=problems(422), summary="Matches, newest stored first")
    def list_matches(wanted: Annotated[MatchParameters, Query()]) -> Response:
        """Return the matches that pass every filter, live ones unless asked otherwise.

        New ones never shift the pages of a cursor; what is superseded meanwhile is left out of those still to come.
        """
        superseded = FLAGS[wanted.superseded]
        filters = MatchFilter(
            wanted.query, wanted.area, wanted.sensor, wanted.from_, wanted.to, wanted.min_probability, superseded
        )
        with engine.connect() as connection:
            newest = newest_sequence(connection)
            read = partial(match_rows.read_newest_first, connection, filters)
            rows, more = read_page(wanted, settings, filters, read)
        bodies = [match_rows.match_body(row.body, row.superseded_by) for row in rows]
        return json_page(bodies, next_cursor=more, last_event_id=str(newest))

    @router.get("/{id}", response_model=MatchBody, responses=problems(404, 422), summary="One match")
    def get_match(id: str) -> Response:  # noqa: A002 - the path's name for it
        """Return the match, superseded or not; `superseded_by` says by which."""
        with engine.connect() as connection:
            body = match_rows.read_match(connection, id)
        if body is None:
            raise Problem(404, f"there is no match {id[:100]!r}")
        return Response(body, media_type="application/json")

    return router
