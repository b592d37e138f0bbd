"""What ingest answers about streams and templates, as far as the console reads it."""

from __future__ import annotations

from msgspec import Struct, field

from services.console.rest.documents import TemplateAnswer


class StreamAnswer(Struct, frozen=True, kw_only=True):
    """A declared stream: GET /v1/streams."""

    name: str
    max_delay_s: float = 0.0
    longest_template_s: float = 0.0
    echo_s: float | None = None
    sensors: int = 0
    queries: list[str] = field(default_factory=list)
    version: int = 0


class StreamListAnswer(Struct, frozen=True):
    """All declared streams."""

    items: list[StreamAnswer]


class NamedTemplateAnswer(TemplateAnswer, frozen=True, kw_only=True):
    """A template that has a name: GET /v1/templates."""

    name: str
    sensors: int = 0
    behind: int = 0
    version: int = 0
    changed_at_us: int | None = None
    changed_by: str | None = None


class OtherAnswer(Struct, frozen=True):
    """A sensor on a stream."""

    sensor: str
    stream: str


class ErrorAnswer(Struct, frozen=True):
    """A distribution of errors."""

    edges_s: list[float]
    mass: list[float]


class SharedAnswer(Struct, frozen=True, kw_only=True):
    """What of a sensor's errors moves together with those of others, and what is left."""

    clock: str | None = None
    others: list[OtherAnswer]
    correlation: float
    events: int
    error: ErrorAnswer
    own: ErrorAnswer


class ProposalAnswer(Struct, frozen=True, kw_only=True):
    """A template that was learnt for a sensor on a stream: GET /v1/template-proposals."""

    id: str
    sensor: str
    stream: str
    edges_s: list[float]
    mass: list[float]
    errors: int
    pool: str
    state: str
    proposed_at_us: int
    distance: float | None = None
    score: float | None = None
    present_score: float | None = None
    shared: SharedAnswer | None = None


class DriftAnswer(Struct, frozen=True, kw_only=True):
    """How recent errors fit their template."""

    errors: int
    distance: float
    p_value: float
    levels: list[int]
    spread: float = 1.0
    spread_p_value: float = 1.0


class HeardAnswer(Struct, frozen=True, kw_only=True):
    """What fusion has heard of a sensor on a stream."""

    last_seen_us: int
    rate_hz: float | None = None
    late_share: float = 0.0
    echo_share: float = 0.0
    drift: DriftAnswer | None = None
