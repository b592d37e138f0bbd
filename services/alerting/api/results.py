"""GET /v1/matches, /v1/episodes and /v1/dead-letters: what is stored, by filters, page by page or as a stream."""

from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from sqlalchemy import Engine, Row

from coincide.wire.fields import INT64_MAX, LONGEST_NAME
from coincide.wire.results.dead_letter import DeadLetter, Source
from services.alerting.api.listings import (
    FLAGS,
    HOW_WRITTEN,
    Accept,
    Instant,
    Listing,
    ListParameters,
    Lists,
    Order,
    QueryListParameters,
    list_answers,
    read_page,
)
from services.alerting.api.result_models import (
    DeadLetterPage,
    Episode,
    EpisodePage,
    Match,
    MatchPage,
    RevisionPage,
    answers,
)
from services.alerting.exports.result_columns import columns_of
from services.alerting.exports.result_formats import MAP_MEDIA_TYPES, AnyFormat
from services.alerting.settings import AlertingSettings
from services.alerting.store import dead_letter_rows, episode_rows, match_rows
from services.alerting.store.dead_letter_rows import DeadLetterFilter
from services.alerting.store.episode_rows import EpisodeFilter
from services.alerting.store.episode_sureness import read_surest_first
from services.alerting.store.live_rows import newest_sequence
from services.alerting.store.match_rows import MatchFilter, SurestPlace, with_member
from services.common.http.pages import PageParameters, decode_name_cursor, encode_cursor, json_page, not_ours
from services.common.http.problem import Problem
from services.common.http.route_table import IN_PATH


class MatchParameters(QueryListParameters):
    """Filters and page of GET /v1/matches."""

    format: AnyFormat | None = Field(  # type: ignore[assignment]
        None,
        description=f"{HOW_WRITTEN} geojson and quakeml (1.2) have the matches whose place is told; quakeml those on "
        "the Earth.",
    )
    area: str | None = Field(None, max_length=LONGEST_NAME, description="Only matches in this area.")
    sensor: str | None = Field(
        None, max_length=LONGEST_NAME, description="Only matches with a member from this sensor."
    )
    from_: Instant | None = Field(None, alias="from", description="Only what may have happened at or after this time.")
    to: Instant | None = Field(None, description="Only what may have happened at or before this time.")
    min_probability: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Only matches whose `probability`, the one that their query has a threshold for, is at least this.",
    )
    min_posterior: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Only matches whose evidence has a `posterior` of at least this; those without one are left out.",
    )
    order: Literal["newest", "posterior"] = Field(
        "newest",
        description="newest: those stored last first; posterior: those that are most probably one event first, without "
        "those whose posterior is not known. What is stored later is on none of the pages that follow.",
    )
    superseded: Literal["false", "true", "any"] = Field(
        "false", description="false: only live matches; true: only those that a larger match superseded; any: both."
    )


def _match_body(row: Row[*tuple[Any, ...]]) -> str:
    return match_rows.match_body(row.body, row.superseded_by, row.evidence)


def _encode_place(filters: Any, place: SurestPlace) -> str:
    return encode_cursor(filters, f"{place.posterior!r} {place.sequence} {place.upto}")


def _decode_place(filters: Any, cursor: str | None) -> SurestPlace | None:
    name = decode_name_cursor(filters, cursor)
    if name is None:
        return None
    try:
        posterior, sequence, upto = name.split(" ")
        place = SurestPlace(float(posterior), int(sequence), int(upto))
    except ValueError:
        raise not_ours(cursor) from None
    if not (0 <= place.posterior <= 1 and all(0 <= each <= INT64_MAX for each in place[1:])):
        raise not_ours(cursor)
    return place


SUREST = Order(
    attrgetter("posterior", "sequence"),
    lambda row: SurestPlace(row.posterior, row.sequence, row.upto),
    _encode_place,
    _decode_place,
)
MATCHES = Listing("matches", match_rows.read_newest_first, _match_body, columns_of(Match), more_formats=MAP_MEDIA_TYPES)
SUREST_MATCHES = Listing(
    "matches", match_rows.read_surest_first, _match_body, columns_of(Match), SUREST, MAP_MEDIA_TYPES
)


def matches_router(engine: Engine, lists: Lists) -> APIRouter:
    """Return the routes that read matches."""
    router = APIRouter(prefix="/v1/matches", tags=["matches"])

    @router.get(
        "",
        responses=list_answers(MatchPage, MAP_MEDIA_TYPES),
        summary="Matches, newest stored first, or the surest first",
    )
    def list_matches(wanted: Annotated[MatchParameters, Query()], accept: Accept = None) -> Response:
        """Return the matches that pass every filter, live ones unless asked otherwise.

        New ones never shift the pages of a cursor; what is superseded meanwhile is left out of those still to come.
        """
        filters = MatchFilter(
            area=wanted.area,
            sensor=wanted.sensor,
            from_us=wanted.from_,
            to_us=wanted.to,
            min_probability=wanted.min_probability,
            superseded=FLAGS[wanted.superseded],
            min_posterior=wanted.min_posterior,
        )
        listing = SUREST_MATCHES if wanted.order == "posterior" else MATCHES
        return lists.answer(listing, wanted, filters, accept, newest_sequence)

    @router.get("/{id}", responses=answers(Match, 404, 422), summary="One match")
    def get_match(id: str) -> Response:  # noqa: A002 - the path's name for it
        """Return the match, superseded or not; `superseded_by` says by which."""
        with engine.connect() as connection:
            body = match_rows.read_match(connection, id)
        if body is None:
            raise Problem(404, f"there is no match {id[:100]!r}")
        return Response(body, media_type="application/json")

    return router


EpisodeId = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH, description="The episode's id.")]


class EpisodeParameters(QueryListParameters):
    """Filters and page of GET /v1/episodes."""

    area: str | None = Field(None, max_length=LONGEST_NAME, description="Only episodes in this area.")
    from_: Instant | None = Field(None, alias="from", description="Only episodes that end at or after this time.")
    to: Instant | None = Field(None, description="Only episodes that start at or before this time.")
    min_probability: float | None = Field(
        None, ge=0, le=1, description="Only episodes whose most probable match is at least as probable."
    )
    min_posterior: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Only episodes whose evidence has a `posterior` of at least this; those without one are left out.",
    )
    order: Literal["newest", "posterior"] = Field(
        "newest",
        description="newest: those found last first; posterior: those of which a match is most probably one event "
        "first, without those of which that is not known. What is told later is on none of the pages that follow.",
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


EPISODES = Listing("episodes", episode_rows.read_newest_first, attrgetter("body"), columns_of(Episode))
SUREST_EPISODES = Listing("episodes", read_surest_first, attrgetter("body"), columns_of(Episode), SUREST)


def episodes_router(engine: Engine, settings: AlertingSettings, lists: Lists) -> APIRouter:
    """Return the routes that read episodes."""
    router = APIRouter(prefix="/v1/episodes", tags=["episodes"])

    @router.get("", responses=list_answers(EpisodePage), summary="Episodes, those found last first, or the surest")
    def list_episodes(wanted: Annotated[EpisodeParameters, Query()], accept: Accept = None) -> Response:
        """Return the episodes that pass every filter, as they are now.

        New ones never shift the pages of a cursor, and an episode keeps its place when it changes; what passes the
        filters no longer is left out of the pages still to come.
        """
        retracted = FLAGS[wanted.retracted]
        filters = EpisodeFilter(
            None,
            wanted.area,
            wanted.from_,
            wanted.to,
            wanted.min_probability,
            wanted.state,
            retracted,
            wanted.min_posterior,
        )
        listing = SUREST_EPISODES if wanted.order == "posterior" else EPISODES
        return lists.answer(listing, wanted, filters, accept, newest_sequence)

    @router.get("/{id}", responses=answers(Episode, 404, 422), summary="One episode")
    def get_episode(id: EpisodeId) -> Response:  # noqa: A002 - the path's name for it
        """Return the episode as it is now; `replaced_by` names the episodes that took the place of a retracted one."""
        with engine.connect() as connection:
            body = episode_rows.read_episode(connection, id)
        if body is None:
            raise _missing(id)
        return Response(body, media_type="application/json")

    @router.get(
        "/{id}/revisions",
        responses=answers(RevisionPage, 404, 422),
        summary="How an episode came to be as it is, newest first",
    )
    def list_revisions(id: EpisodeId, parameters: Annotated[PageParameters, Query()]) -> Response:  # noqa: A002
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


class DeadLetterParameters(ListParameters):
    """Filters and page of GET /v1/dead-letters."""

    reason: str | None = Field(
        None, max_length=LONGEST_NAME, description="Only letters with this reason, such as late."
    )
    area: str | None = Field(None, max_length=LONGEST_NAME, description="Only letters of this area.")
    sensor: str | None = Field(None, max_length=LONGEST_NAME, description="Only letters of this sensor.")
    source: Source | None = Field(None, description="Only letters from ingest, or from fusion.")
    from_: Instant | None = Field(None, alias="from", description="Only letters written at or after this time.")
    to: Instant | None = Field(None, description="Only letters written at or before this time.")


DEAD_LETTERS = Listing("dead-letters", dead_letter_rows.read_newest_first, attrgetter("body"), columns_of(DeadLetter))


def dead_letters_router(lists: Lists) -> APIRouter:
    """Return the route that reads dead letters."""
    router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"])

    @router.get("", responses=list_answers(DeadLetterPage), summary="Dead letters, newest stored first")
    def list_dead_letters(wanted: Annotated[DeadLetterParameters, Query()], accept: Accept = None) -> Response:
        """Return the dead letters that pass every filter; times are those at which they were written to Kafka."""
        filters = DeadLetterFilter(wanted.reason, wanted.area, wanted.sensor, wanted.source, wanted.from_, wanted.to)
        return lists.answer(DEAD_LETTERS, wanted, filters, accept)

    return router
