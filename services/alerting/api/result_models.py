"""What the API answers with: matches, episodes, dead letters, problems; times are microseconds since the epoch, UTC."""

from http import HTTPStatus
from typing import Any, Generic, TypeVar

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from services.alerting.api.query_models import QueryDocument
from services.common.http.problem_document import MEDIA_TYPE

Item = TypeVar("Item")


class EpisodeMemberBody(BaseModel):
    """One detection of an episode."""

    model_config = ConfigDict(extra="allow")

    sensor: str
    id: str
    stream: str
    detected_at_us: int
    attributes: dict[str, Any] = {}


class MatchMemberBody(EpisodeMemberBody):
    """One detection of a match."""

    role: str
    earliest_us: int
    latest_us: int
    template: str


class OccurredBody(BaseModel):
    """When it happened, all members considered."""

    mean_us: int = Field(description="Expected time.")
    std_s: float = Field(ge=0, description="Standard deviation in seconds.")
    p05_us: int = Field(description="5 % quantile.")
    p95_us: int = Field(description="95 % quantile.")


class EdgeProbabilityBody(BaseModel):
    """How probable it is that the window between two members holds."""

    between: list[str] = Field(min_length=2, max_length=2, description="Two roles.")
    probability: float = Field(gt=0, le=1)


class JointProbabilityBody(BaseModel):
    """How probable it is that all windows between the members hold at once."""

    probability: float = Field(ge=0, le=1, description="The best guess.")
    least: float = Field(ge=0, le=1, description="It is certainly not less.")
    greatest: float = Field(ge=0, le=1, description="It is certainly not more.")
    certain: bool = Field(description="False where the query's joint_threshold lies between least and greatest.")


class MatchBody(BaseModel):
    """Detections whose times probably lie within the windows of a query, as the fusion job found them."""

    model_config = ConfigDict(extra="allow")

    v: int
    id: str
    query: str
    query_version: int
    area: str
    probability: float = Field(
        ge=0,
        le=1,
        description="The one that the query's threshold is about: that all windows between its members hold at once "
        "where the query has a joint_threshold, else that the least probable of them holds.",
    )
    earliest_us: int
    latest_us: int
    received_at_us: int = Field(description="When ingest had the last of its members in hand.")
    occurred: OccurredBody | None = Field(
        None, description="Null for graphs of more than two roles other than cliques in one window, or see `unknown`."
    )
    chance_rate_hz: float | None = Field(
        None,
        ge=0,
        description="Advisory false-alarm rate: matches of this query at least as probable as this one that chance "
        "alone would give in this area per second. Null until a whole minute of the area has been counted, for queries "
        "with equal or filters, and where it would take too much work.",
    )
    chance_rate_error_hz: float | None = Field(
        None,
        ge=0,
        description="Standard error of the computation of `chance_rate_hz`, 0 where that is exact; absent for queries "
        "of two roles, and where there is no rate.",
    )
    unknown: dict[str, str] | None = Field(
        None, description="Why `occurred` or `chance_rate_hz` is null; absent if neither is."
    )
    members: list[MatchMemberBody] = Field(
        min_length=2, max_length=16, description="In the order of the query's roles; at_least leaves some out."
    )
    joint: JointProbabilityBody | None = Field(
        None, description="That all windows hold at once; absent for queries of two roles."
    )
    edges: list[EdgeProbabilityBody] | None = Field(
        None, description="The query's edges between these members; absent for queries of two roles."
    )
    supersedes: list[str] | None = Field(
        None, description="Ids of the matches that this one enlarges; absent for queries of two roles."
    )
    superseded_by: str | None = Field(
        None, description="Id of the match that enlarges this one; absent while the match is live."
    )


class DeadLetterBody(BaseModel):
    """A detection that could not be used or came too late, and why."""

    model_config = ConfigDict(extra="allow")

    v: int
    dead_id: str
    source: str = Field(description="Who refused it: ingest or fusion.")
    reason: str
    detail: str | None = None
    received_at_us: int | None = None
    area: str | None = None
    stream: str | None = None
    sensor: str | None = None
    id: str | None = None
    late_by_us: int | None = None
    record: Any = None


class Page(BaseModel, Generic[Item]):
    """Items, newest stored first."""

    items: list[Item]
    next_cursor: str | None = Field(description="Ask with it as `cursor` for the next page; null on the last.")


class MatchPage(Page[MatchBody]):
    """Matches, newest stored first."""

    last_event_id: str = Field(
        description="Give it to /v1/live as Last-Event-ID to get what is stored after this page was read."
    )


class DeadLetterPage(Page[DeadLetterBody]):
    """Dead letters, newest stored first."""


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str


class EpisodeBody(BaseModel):
    """Matches or readings that a query with `coalesce` puts together; `retracted`, it no longer stands."""

    model_config = ConfigDict(extra="allow")

    v: int
    id: str
    query: str
    query_version: int
    area: str
    revision: int = Field(ge=0, description="Offset of the frame that last changed it: grows, with gaps.")
    retracted: bool = Field(
        False, description="It no longer stands; everything below but `replaced_by` is absent then."
    )
    replaced_by: list[str] | None = Field(None, description="Ids of the episodes that took its place.")
    group: dict[str, Any] | None = Field(None, description="Values of the fields that the query's `by` names.")
    start_us: int | None = Field(None, description="The earliest that it probably began: of matches, with all doubt.")
    end_us: int | None = Field(None, description="The latest that it probably ended; closed.")
    duration_s: float | None = Field(
        None,
        description="How long it lasted, as well as that is known: of matches from when the first probably occurred to "
        "when the last did; of readings from start to end.",
    )
    uncertainty_s: float | None = Field(
        None,
        description="Of matches: how much longer start to end is than duration_s, because the clocks are uncertain.",
    )
    count: int | None = Field(None, ge=0, description="What was coalesced: matches, or readings.")
    best_probability: float | None = Field(None, ge=0, le=1, description="That of its most probable match.")
    open: bool | None = Field(None, description="The area's time has not passed the episode's end and gap.")
    final: bool | None = Field(None, description="Nothing on time can change it.")
    received_at_us: int | None = Field(None, description="When ingest had the newest detection that changed it.")
    members: list[EpisodeMemberBody] | None = Field(
        None,
        description="The first 200 distinct detections by (detected_at_us, sensor, id, stream); of a spell its "
        "first and its last reading; none of a window.",
    )
    members_truncated: bool | None = Field(None, description="There are more members than those listed.")


class RevisionBody(EpisodeBody):
    """An episode as it was at a revision."""

    stored_at_us: int = Field(description="When alerting stored the revision.")


class EpisodePage(Page[EpisodeBody]):
    """Episodes, those found last first."""

    last_event_id: str = Field(
        description="Give it to /v1/live?kind=episodes as Last-Event-ID to get what is stored after this page was read."
    )


class RevisionPage(Page[RevisionBody]):
    """Revisions of one episode, newest first."""


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that may answer with these statuses."""
    schema = {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def describe_all_bodies(app: FastAPI) -> None:
    """Add to the document of `app` the bodies that FastAPI does not see: problems, and queries read as strict JSON."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
            (ProblemDocument, "serialization"),
            (QueryDocument, "validation"),
        ]
        _, schemas = models_json_schema(models, ref_template="#/components/schemas/{model}")
        document["components"]["schemas"].update(schemas["$defs"])
        return document

    app.openapi = openapi  # type: ignore[method-assign]
