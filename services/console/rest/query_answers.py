"""What the services answer about queries, as far as the console reads it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class SuspensionAnswer(Struct, frozen=True):
    """Where and why fusion has suspended a query."""

    limit: str
    allowed: float | None
    reached: float | None
    everywhere: bool = False
    area: str | None = None


class QueryAnswer(Struct, frozen=True, kw_only=True):
    """A query as GET /v1/queries/{id} has it."""

    id: str
    version: int
    paused: bool
    changed_at_us: int
    query: dict[str, Any]
    applied_version: int | None = None
    suspended: list[SuspensionAnswer] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def is_join(self) -> bool:
        """Whether it joins detections; else it is over readings."""
        return "within" in self.query


class QueryListAnswer(Struct, frozen=True):
    """All queries."""

    items: list[QueryAnswer]


class VersionAnswer(Struct, frozen=True, kw_only=True):
    """A version of a query as GET /v1/queries/{id}/versions has it."""

    version: int
    changed_at_us: int
    paused: bool = False
    query: dict[str, Any] | None = None


class VersionListAnswer(Struct, frozen=True):
    """All versions of a query, newest first."""

    items: list[VersionAnswer]


class EdgeFiguresAnswer(Struct, frozen=True, kw_only=True):
    """What the registered sensors can attain between two roles."""

    between: list[str]
    threshold: float
    sensor_pairs: int
    least: float | None = None
    greatest: float | None = None


class ChanceFiguresAnswer(Struct, frozen=True):
    """Matches by chance."""

    per_hour: float


class ExplanationAnswer(Struct, frozen=True):
    """The figures of an explanation."""

    edges: list[EdgeFiguresAnswer]
    chance: ChanceFiguresAnswer | None = None


class ExplainAnswer(Struct, frozen=True):
    """What a query can find, and chance: GET and POST /v1/queries/{id}/explain."""

    explanation: ExplanationAnswer
    sentences: list[str]


class ChangeAnswer(Struct, frozen=True, kw_only=True):
    """A change that somebody made: GET /v1/audit."""

    at_us: int
    name: str
    action: str
    after: Any = None
    why: str | None = None
