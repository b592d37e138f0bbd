"""What the API answers with; times are microseconds since the epoch, UTC."""

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")


class Member(BaseModel):
    """One detection of a match."""

    model_config = ConfigDict(extra="allow")

    role: str
    sensor: str
    id: str
    stream: str
    detected_at_us: int
    earliest_us: int
    latest_us: int
    template: str
    attributes: dict[str, Any] = {}


class WhenOccurred(BaseModel):
    """When it happened, all members considered."""

    mean_us: int = Field(description="Expected time.")
    std_s: float = Field(ge=0, description="Standard deviation in seconds.")
    p05_us: int = Field(description="5 % quantile.")
    p95_us: int = Field(description="95 % quantile.")


class Match(BaseModel):
    """Detections that happened together, as the fusion job found them."""

    model_config = ConfigDict(extra="allow")

    v: int
    id: str
    query: str
    query_version: int
    area: str
    probability: float = Field(ge=0, le=1)
    earliest_us: int
    latest_us: int
    received_at_us: int = Field(description="When ingest had the last of its members in hand.")
    occurred: WhenOccurred | None = Field(None, description="Absent from matches of fusion jobs before it was known.")
    chance_rate_hz: float | None = Field(
        None,
        ge=0,
        description="Advisory false-alarm rate: matches of this query at least as probable as this one that chance "
        "alone would give in this area per second. Null until a whole minute of the area has been counted, and for "
        "templates of very many buckets.",
    )
    members: list[Member]


class DeadLetter(BaseModel):
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


class MatchPage(Page[Match]):
    """Matches, newest stored first."""

    last_event_id: str = Field(
        description="Give it to /v1/live as Last-Event-ID to get what is stored after this page was read."
    )


class DeadLetterPage(Page[DeadLetter]):
    """Dead letters, newest stored first."""


class Edge(BaseModel):
    """Two roles that must be near in time: P(lo <= X of the second - X of the first <= hi) >= threshold."""

    between: list[str] = Field(min_length=2, max_length=2)
    window_s: float | None = Field(None, description="Symmetric window, instead of lo_s and hi_s.")
    lo_s: float | None = None
    hi_s: float | None = None
    threshold: float = Field(gt=0, le=1)


class QueryDocument(BaseModel):
    """A continuous query."""

    model_config = ConfigDict(populate_by_name=True)

    id: str | None = Field(None, description="May be left out of a body: the path names it.")
    streams: dict[str, str] = Field(alias="from", description="Stream of each role.")
    within: list[Edge] = Field(min_length=1, max_length=1)
    sensors: str = Field("different", description="different, same or any: the sensors that members may come from.")


class QueryState(BaseModel):
    """A query as it is now."""

    id: str
    version: int
    paused: bool
    changed_at_us: int
    applied_version: int | None = Field(description="Version that every shard of the fusion job has applied; or null.")
    query: dict[str, Any] = Field(description="The query as accepted, in the form of QueryDocument.")


class QueryList(BaseModel):
    """Every query, by id."""

    items: list[QueryState]


class QueryVersion(BaseModel):
    """A query as it was from one version on."""

    version: int
    paused: bool
    removed: bool
    changed_at_us: int
    query: dict[str, Any] | None


class QueryHistory(BaseModel):
    """Every version that was seen of a query, newest first."""

    id: str
    items: list[QueryVersion]


class Threshold(BaseModel):
    """A new threshold."""

    model_config = ConfigDict(extra="forbid", strict=True)

    threshold: float = Field(gt=0, le=1, allow_inf_nan=False)


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
