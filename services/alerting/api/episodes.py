"""GET /v1/episodes: matches, or readings, that belong together over a time."""

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from sqlalchemy import Engine

from services.alerting.api.descriptions import problems
from services.alerting.api.pages import FLAGS, Instant, PageParameters, json_page, read_page
from services.alerting.api.result_models import EpisodeBody, EpisodePage, RevisionPage
from services.alerting.settings import Settings
from services.alerting.store import episode_rows
from services.alerting.store.episode_rows import EpisodeFilter
from services.alerting.store.match_rows import with_member
from services.alerting.store.sequence import newest_sequence
from services.common.problem import Problem

Id = Annotated[str, Path(max_length=200, description="The episode's id.")]


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
        description="open: may go on; closed: its end and gap have passed, but a late detection may change it; "
        "final: nothing can change it.",
    )
    retracted: Literal["false", "true", "any"] = Field(
        "false",
        description="false: only episodes that still stand; true: only retracted ones; any: both. "
        "A retracted episode has no state, time or probability, and passes no filter on them.",
    )


def episodes_router(engine: Engine, settings: Settings) -> APIRouter:
    """Return the routes that read episodes."""
    router = APIRouter(prefix="/v1/episodes", tags=["episodes"])

    @router.get("", response_model=EpisodePage, responses=problems(422), summary="Episodes, those found last first")
    def list_episodes(wanted: Annotated[EpisodeParameters, Query()]) -> Response:
        """Return the episodes that pass every filter, as they are now.

        New ones never shift the pages of a cursor, and an episode keeps its place when it changes; what passes the
        filters no longer is left out of the pages still to come.
        """
        retracted = FLAGS[wanted.retracted]
        filters = EpisodeFilter(
            wanted.query, wanted.area, wanted.from_, wanted.to, wanted.min_probability, wanted.state, retracted
        )
        with engine.connect() as connection:
            newest = newest_sequence(connection)
            read = partial(episode_rows.read_newest_first, connection, filters)
            rows, more = read_page(wanted, settings, filters, read)
        return json_page([row.body for row in rows], next_cursor=more, last_event_id=str(newest))

    @router.get("/{id}", response_model=EpisodeBody, responses=problems(404, 422), summary="One episode")
    def get_episode(id: Id) -> Response:  # noqa: A002 - the path's name for it
        """Return the episode as it is now; `replaced_by` names the episodes that took the place of a retracted one."""
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
        with engine.connect() as connection:
            rows, more = read_page(parameters, settings, id, partial(episode_rows.read_revisions, connection, id))
            if episode_rows.read_episode(connection, id) is None:
                raise _missing(id)
        bodies = [with_member(row.body, "stored_at_us", row.stored_at_us) for row in rows]
        return json_page(bodies, next_cursor=more)

    return router


def _missing(id_: str) -> Problem:
    return Problem(404, f"there is no episode {id_[:100]!r}")
