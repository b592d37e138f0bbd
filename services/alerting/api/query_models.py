"""What the API takes and answers about queries."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from coincide.queries.explaining import Explanation
from services.alerting.store.query_rows import QueryVersion


class SuspensionBody(BaseModel):
    """A query gives no more matches in an area, or everywhere, until a newer version of it is in force."""

    shard: int = Field(description="Shard of the fusion job that has suspended it.")
    version: int = Field(description="Version that it has suspended.")
    everywhere: bool = Field(description="Whether in all areas of the shard, else in `area` alone.")
    limit: str = Field(
        description="max_matches_per_detection, max_candidates_per_detection, max_matches_per_s, max_window_answers, "
        "max_query_s or max_push_s: see Limits and suspension. Or memory: there was not enough of it."
    )
    allowed: float | None = Field(description="What the limit allows; null for memory.")
    reached: float | None = Field(
        description="At least so much was reached; counting ends beyond the limit. Null for memory."
    )
    received_at_us: int = Field(description="When ingest received the detection that broke the limit.")
    area: str | None = Field(
        description="Area of that detection; null, as are the next two, where it is suspended everywhere."
    )
    sensor: str | None
    id: str | None


class QueryBody(BaseModel):
    """A query as it is now."""

    id: str
    version: int
    paused: bool
    changed_at_us: int
    applied_version: int | None = Field(description="Version that every shard of the fusion job has applied; or null.")
    episodes: int | None = Field(
        None, description="Records of episodes that the fusion job has given; null until it knows the query."
    )
    coalescing: dict[str, Any] | None = Field(
        None,
        description="How the fusion job coalesces, and why: scheme (eager or lazy), reason, eager_cost_s, lazy_cost_s. "
        "Where several shards answer the query, as the first of them says; null where none says so.",
    )
    suspended: list[SuspensionBody] = Field(
        description="Where the fusion job has suspended the query, and why; resume it, or give it another version."
    )
    warnings: list[str] = Field(
        description="What can be expected to break a limit, at the rates of the busiest area and by chance alone."
    )
    explanation: Explanation | None = Field(
        None,
        description="In the answer to a change: what the registered sensors can reach. Null elsewhere, and where no "
        "sensors are known; GET /v1/queries/{id}/explain has it at any time.",
    )
    query: dict[str, Any] = Field(description="The query as accepted, in the form of QueryDocument.")


class ExplainBody(BaseModel):
    """What a query can find with the sensors registered, and what chance and work it comes with."""

    id: str
    version: int | None = Field(description="Version that is explained; null where the request brought the query.")
    explanation: Explanation = Field(description="The figures.")
    sentences: list[str] = Field(description="The same in English.")
    chance_per_day: float | None = Field(None, description="As asked for.")
    least_threshold: float | None = Field(
        None,
        description="From this threshold on chance gives at most `chance_per_day` matches a day in all areas. "
        "Null where no threshold does, rates are not known, or it was not asked; the sentences say which.",
    )


class QueryList(BaseModel):
    """Every query, by id."""

    items: list[QueryBody]


class QueryHistory(BaseModel):
    """Every version that was seen of a query, newest first."""

    id: str
    items: list[QueryVersion]


class Threshold(BaseModel):
    """A new threshold: of every edge, of the edge between two roles, or of all edges at once.

    It has the bounds of a threshold in a query.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    threshold: FiniteFloat | None = Field(None, description="Of every edge, or of the one that `between` names.")
    between: list[str] | None = Field(None, description="Two roles; with `threshold`.")
    joint_threshold: FiniteFloat | None = Field(None, description="Of all edges at once; by itself.")

    @model_validator(mode="after")
    def _refuse_what_is_not_one_threshold(self) -> Self:
        if self.model_fields_set not in ({"threshold"}, {"between", "threshold"}, {"joint_threshold"}):
            raise ValueError("give threshold, or threshold and between, or joint_threshold")
        if any(getattr(self, name) is None for name in self.model_fields_set):
            raise ValueError("null is no threshold: change the query itself to leave one out")
        return self
