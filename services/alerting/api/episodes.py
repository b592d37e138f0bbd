"""GET /v1/episodes: matches, or readings, that make one lasting thing."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine

from services.alerting.api.descriptions import problems
from services.alerting.api.pages import Instant, decode_cursor, encode_cursor, json_page, page_limit
from services.alerting.api.result_models import Episode, EpisodePage, RevisionPage
from services.alerting.settings import Settings
from services.alerting.store import episode_rows
from services.alerting.store.episode_rows import EpisodeFilter
from services.alerting.store.sequence import newest_sequence
from services.common.problem import Problem

RETRACTED = {"false": False, "true": True, "any": None}

Id = Annotated[str, Path(max_length=200, description="The episode's id.")]


class PageParameters(BaseModel):
    """Which page of a list."""

    model_config = ConfigDict(extra="forbid")

    limit: int | None = Field(None, ge=1, description="Items on the page.")
    cursor: str | None = Field(None, max_length=200, description="`next_cursor` of the page before.")


class EpisodeParameters(PageParameters):
    """Filters and page of GET /v1/episodes."""

    query: str | None = Field(None, max_length=200, description="Only episodes of this query.")
    area: str | None = Field(None, max_length=200, description="Only episodes in this area.")
    from_: Instant | None = Field(None, alias="from", description="Only episodes that end at or after this time.")
    to: Instant | None = Field(None, description="Only episodes that start at or before this time.")
    min_probability: float | None = Field(
        None, ge=0, le=1, description="Only episodes whose most probable match is at least as probable."
    )
    state: Literal["open", "closed", "final"] | None = Field(
        None,
        description="open: may go on; closed: went on no further, though what comes late may change it; final: nothing "
        "can change it.",
    )
    retracted: Literal["false", "true", "any"] = Field(
        "false",
        description="false: only episodes that are; true: only those that are no more; any: both. What is no more has "
        "no state, time or probability, and passes no filter on them.",
    )

    def filter(self) -> EpisodeFilter:
        """Return what the database is asked for."""
        return EpisodeFilter(
            self.query,
            self.area,
            self.from_,
            self.to,
            self.min_probability,
            self.state,
            RETRACTED[self.retracted],
        )


def episodes_router(engine: Engine, settings: Settings) -> APIRouter:
    """Return the routes that read episodes."""
    router = APIRouter(prefix="/v1/episodes", tags=["episodes"])

    @router.get("", response_model=EpisodePage, responses=problems(422), summary="Episodes, those found last first")
    def list_episodes(parameters: Annotated[EpisodeParameters, Query()]) -> Response:
        """Return the episodes that pass every filter, as they are now.

        New ones never shift the pages of a cursor, and an episode keeps its place when it changes; what passes the
        filters no longer is left out of the pages still to come.
        """
        wanted = parameters.filter()
        limit = page_limit(parameters.limit, settings)
        before = decode_cursor(wanted, parameters.cursor)
        with engine.connect() as connection:
            newest = newest_sequence(connection)
            rows = episode_rows.read_newest_first(connection, wanted, before, limit + 1)
        more = encode_cursor(wanted, rows[limit - 1].sequence) if len(rows) > limit else None
        return json_page([row.body for row in rows[:limit]], next_cursor=more, last_event_id=str(newest))

    @router.get("/{id}", response_model=Episode, responses=problems(404, 422), summary="One episode")
    def get_episode(id: Id) -> Response:  # noqa: A002 - the path's name for it
        """Return the episode as it is now; of one that is no more, `replaced_by` says which took its place."""
        with engine.connect() as connection:
            body = episode_rows.read_episode(connection, id)
        if body is None:
            raise _missing(id)
        return Response(body, media_type="application/json")

    @router.get(
        "/{id}/revisions",
        response_model=RevisionPage,
        responses=problems(404, 422),
        summary="How an episode came to be as it is, newest first",
    )
    def list_revisions(id: Id, parameters: Annotated[PageParameters, Query()]) -> Response:  # noqa: A002
        """Return every revision that was stored and is kept, the one that counts first, and when each was stored."""
        limit = page_limit(parameters.limit, settings)
        before = decode_cursor(id, parameters.cursor)
        with engine.connect() as connection:
            is_known = episode_rows.read_episode(connection, id) is not None
            rows = episode_rows.read_revisions(connection, id, before, limit + 1)
        if not is_known:
            raise _missing(id)
        more = encode_cursor(id, rows[limit - 1][0]) if len(rows) > limit else None
        return json_page([body for _, body in rows[:limit]], next_cursor=more)

    return router


def _missing(id_: str) -> Problem:
    return Problem(404, f"there is no episode {id_[:100]!r}")
