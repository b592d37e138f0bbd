"""What the API answers with: matches, evidence, episodes, alerts, dead letters, as their records are declared."""

from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI
from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct, structs

from coincide.wire.fields import Int64
from coincide.wire.json_schema import schemas_of
from coincide.wire.results.dead_letter import DeadLetter
from coincide.wire.results.episode_record import EpisodeRecord
from coincide.wire.results.evidence_record import OF_THE_MATCH, EvidenceRecord
from coincide.wire.results.match_record import MatchRecord
from services.alerting.records.alert import Alert, Change
from services.alerting.store.episode_evidence import EpisodeEvidence
from services.common.http.pages import NEXT_CURSOR
from services.common.http.query_contract import query_components

COMPONENTS = "#/components/schemas/"
Cursor = Annotated[str | None, Meta(description=NEXT_CURSOR)]
LastEvent = Annotated[
    str,
    Meta(
        description="Give it to /v1/live as Last-Event-ID, with the `kind` of what is listed, to get what is stored "
        "after this page was read."
    ),
]


def _evidence() -> type[Struct]:
    """Return the declaration of what a match shows of its evidence: the record without what the match says itself."""
    fields = [
        (each.name, each.type, *(() if each.default is NODEFAULT else (each.default,)))
        for each in structs.fields(EvidenceRecord)
        if each.name not in OF_THE_MATCH
    ]
    said = {"__doc__": "Whether the members of a match are of one event."}
    return defstruct("Evidence", fields, kw_only=True, frozen=True, namespace=said)


if TYPE_CHECKING:
    Evidence = EvidenceRecord
else:
    Evidence = _evidence()


class Match(MatchRecord, frozen=True, kw_only=True):
    """Detections whose times probably lie within the windows of a query, as the fusion job found them."""

    evidence: Annotated[
        Evidence | None,
        Meta(
            description="Whether its members are of one event; null while that is not told, and for queries without "
            "`event`."
        ),
    ]
    superseded_by: Annotated[
        str | UnsetType,
        Meta(description="Id of the match that enlarges this one; absent while the match is live."),
    ] = UNSET


class Episode(EpisodeRecord, frozen=True, kw_only=True):
    """Matches or readings that a query with `coalesce` puts together; `retracted`, it no longer stands."""

    evidence: Annotated[
        EpisodeEvidence | None,
        Meta(description="How probable it is that its matches are of one event; null while that is told of none."),
    ]


class Revision(EpisodeRecord, frozen=True, kw_only=True):
    """An episode as it was at a revision."""

    stored_at_us: Annotated[Int64, Meta(description="When alerting stored the revision.")]


class Transition(Alert, frozen=True, kw_only=True):
    """An alert as it was after a transition."""

    change: Annotated[Change, Meta(description="What happened to it.")]
    changed_at_us: Annotated[Int64, Meta(description="When.")]


class MatchPage(Struct):
    """Matches, newest stored first."""

    items: list[Match]
    next_cursor: Cursor
    last_event_id: LastEvent


class EpisodePage(Struct):
    """Episodes, those found last first."""

    items: list[Episode]
    next_cursor: Cursor
    last_event_id: LastEvent


class AlertPage(Struct):
    """Alerts, those that fired last first."""

    items: list[Alert]
    next_cursor: Cursor
    last_event_id: LastEvent


class DeadLetterPage(Struct):
    """Dead letters, newest stored first."""

    items: list[DeadLetter]
    next_cursor: Cursor


class RevisionPage(Struct):
    """Revisions of one episode, newest first."""

    items: list[Revision]
    next_cursor: Cursor


class TransitionPage(Struct):
    """Transitions of one alert, newest first."""

    items: list[Transition]
    next_cursor: Cursor


#: What is answered as it was written; FastAPI does not see it, so that nothing is checked or encoded again.
BODIES = (MatchPage, EpisodePage, RevisionPage, AlertPage, TransitionPage, DeadLetterPage)


def answers(body: type[Struct], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that answers with `body`, or a problem of one of these statuses."""
    schema = {"$ref": COMPONENTS + body.__name__}
    return {200: {"content": {"application/json": {"schema": schema}}}, **problems(*statuses)}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that may answer with these statuses."""
    return {status: {"description": HTTPStatus(status).phrase} for status in statuses}


def describe_all_bodies(app: FastAPI) -> None:
    """Add to the document of `app` the bodies that FastAPI does not see: results, queries as strict JSON."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schemas = document["components"]["schemas"]
        schemas |= schemas_of(BODIES, COMPONENTS) | query_components(COMPONENTS)
        return document

    app.openapi = cache(openapi)  # type: ignore[method-assign]
