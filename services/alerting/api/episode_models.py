"""What the API answers about episodes; times are microseconds since the epoch, UTC."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from services.alerting.api.models import Page


class EpisodeMember(BaseModel):
    """One detection of an episode."""

    model_config = ConfigDict(extra="allow")

    sensor: str
    id: str
    stream: str
    detected_at_us: int


class Episode(BaseModel):
    """A lasting thing that a query with `coalesce` found, or, `retracted`, that it is no more."""

    model_config = ConfigDict(extra="allow")

    v: int
    id: str
    query: str
    query_version: int
    area: str
    revision: int = Field(ge=0, description="Offset of the frame that last changed it: grows, with gaps.")
    retracted: bool = Field(False, description="It is no more; everything below but `replaced_by` is absent then.")
    replaced_by: list[str] | None = Field(None, description="Ids of the episodes that took its place.")
    group: dict[str, Any] | None = Field(None, description="Values of the fields that the query's `by` names.")
    start_us: int | None = None
    end_us: int | None = Field(None, description="Closed end.")
    count: int | None = Field(None, ge=0, description="What was coalesced: matches, or readings.")
    best_probability: float | None = Field(None, ge=0, le=1, description="That of its most probable match.")
    open: bool | None = Field(None, description="The area's time has not passed the episode's end and gap.")
    final: bool | None = Field(None, description="Nothing on time can change it.")
    received_at_us: int | None = Field(None, description="When ingest had the newest detection that changed it.")
    members: list[EpisodeMember] | None = Field(
        None, description="The first 200 distinct detections by (detected_at_us, sensor, id, stream)."
    )
    members_truncated: bool | None = Field(None, description="There are more members than those listed.")


class EpisodeRevision(Episode):
    """An episode as it was at a revision."""

    stored_at_us: int = Field(description="When alerting stored the revision.")


class EpisodePage(Page[Episode]):
    """Episodes, those found last first."""

    last_event_id: str = Field(
        description="Give it to /v1/live?kind=episodes as Last-Event-ID to get what is stored after this page was read."
    )


class RevisionPage(Page[EpisodeRevision]):
    """Revisions of one episode, newest first."""
