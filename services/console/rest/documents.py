"""What the services answer, as far as the console reads it; members it does not know are left alone."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import UNSET, Struct, field

from coincide.wire.payload import ShownPayload
from coincide.wire.results.source_place import SourcePlace
from services.console.rest.evidence_answers import EvidenceAnswer

Item = TypeVar("Item")


class PageAnswer(Struct, Generic[Item], frozen=True):
    """Some items of a list, and where the next ones begin."""

    items: list[Item]
    next_cursor: str | None = None
    last_event_id: str | None = None


class CallerAnswer(Struct, frozen=True):
    """Whom the services see in the console's requests: GET /v1/caller."""

    name: str
    scopes: list[str]
    key: str | None = None

    def may(self, scope: str) -> bool:
        """Whether it may do what needs `scope`."""
        return scope in self.scopes or "admin" in self.scopes


class MemberAnswer(ShownPayload, frozen=True, kw_only=True):
    """One detection of a match or episode."""

    sensor: str
    id: str
    stream: str
    detected_at_us: int
    role: str | None = None
    earliest_us: int | None = None
    latest_us: int | None = None
    template: str | None = None
    place: dict[str, float] | None = None


class ClockAnswer(Struct, frozen=True):
    """How slow a clock was."""

    id: str
    mean_s: float
    std_s: float
    p05_s: float
    p95_s: float


class OccurredAnswer(Struct, frozen=True):
    """When it happened."""

    mean_us: int
    std_s: float
    p05_us: int
    p95_us: int
    clocks: list[ClockAnswer] = []


class EdgeAnswer(Struct, frozen=True):
    """How probable the window between two roles is."""

    between: list[str]
    probability: float


class JointAnswer(Struct, frozen=True):
    """How probable it is that all windows hold."""

    probability: float
    least: float
    greatest: float
    certain: bool


class MatchAnswer(Struct, frozen=True, kw_only=True):
    """A match as GET /v1/matches/{id} and the live stream have it."""

    id: str
    query: str
    query_version: int
    area: str
    probability: float
    earliest_us: int
    latest_us: int
    received_at_us: int
    members: list[MemberAnswer]
    occurred: OccurredAnswer | None = None
    chance_rate_hz: float | None = None
    chance_rate_error_hz: float | None = None
    unknown: dict[str, str] | None = None
    joint: JointAnswer | None = None
    edges: list[EdgeAnswer] | None = None
    superseded_by: str | None = None
    evidence: EvidenceAnswer | None = None
    place: SourcePlace | None = None

    @property
    def posterior(self) -> float | None:
        """How probable it is that it is one event; None where that is not known."""
        return None if self.evidence is None else self.evidence.posterior


class WindowAnswer(Struct, frozen=True):
    """The window [start, end) of which a query over readings asked."""

    start_us: int
    end_us: int


class EpisodeEvidenceAnswer(Struct, frozen=True):
    """How probable it is that the surest match of an episode is one event."""

    posterior: float


class EpisodeAnswer(Struct, frozen=True, kw_only=True):
    """An episode as GET /v1/episodes/{id} and the live stream have it."""

    id: str
    query: str
    area: str
    retracted: bool = False
    start_us: int | None = None
    end_us: int | None = None
    duration_s: float | None = None
    uncertainty_s: float | None = None
    count: int | None = None
    best_probability: float | None = None
    open: bool | None = None
    final: bool | None = None
    members: list[MemberAnswer] | None = None
    group: dict[str, Any] = field(default_factory=dict)
    window: WindowAnswer | None = None
    value: Any = UNSET
    evidence: EpisodeEvidenceAnswer | None = None

    @property
    def posterior(self) -> float | None:
        """How probable it is that its surest match is one event; None where that is not known."""
        return None if self.evidence is None else self.evidence.posterior

    @property
    def is_of_readings(self) -> bool:
        """Whether it is a spell, or of a window over readings: only these have a value."""
        return self.value is not UNSET

    @property
    def lasted_s(self) -> float:
        """How long it lasted, as well as that is known."""
        return self.duration_s if self.duration_s is not None else ((self.end_us or 0) - (self.start_us or 0)) / 1e6

    @property
    def counted(self) -> str:
        """What it is made of, in words: 1 match, 12 matches, 40 readings."""
        if self.is_of_readings:
            return "1 reading" if self.count == 1 else f"{self.count} readings"
        return "1 match" if self.count == 1 else f"{self.count} matches"


class SupersededAnswer(Struct, frozen=True):
    """A match that a larger one takes back."""

    id: str
    superseded_by: str


class AcknowledgedAnswer(Struct, frozen=True):
    """Who has taken over an alert."""

    by: str
    why: str = ""


class AlertAnswer(Struct, frozen=True, kw_only=True):
    """An alert as GET /v1/alerts/{id} and the live stream have it."""

    id: str
    query: str | None = None
    area: str | None = None
    title: str
    severity: str
    state: str
    fired_at_us: int
    kind: str = ""
    source: str = ""
    resolved_at_us: int | None = None
    text: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    withheld: str | None = None
    acknowledged: AcknowledgedAnswer | None = None
    resolved_because: str | None = None


class TransitionAnswer(Struct, frozen=True):
    """What happened to an alert: GET /v1/alerts/{id}/history."""

    change: str
    changed_at_us: int


class SilenceAnswer(Struct, frozen=True):
    """A silence as GET /v1/silences has it."""

    id: str
    version: int
    matchers: dict[str, str]
    until_us: int
    by: str
    why: str
    active: bool


class SilenceListAnswer(Struct, frozen=True):
    """All silences."""

    items: list[SilenceAnswer]


class ReceiverWay(NamedTuple):
    """A way to tell a receiver, in words: to be chosen, in a list, and its URL, if it has one."""

    choice: str
    listed: str
    url: str | None


WAYS = {
    "webhook": ReceiverWay("a webhook", "webhook", "URL that gets each message"),
    "alertmanager": ReceiverWay("a Prometheus Alertmanager", "Alertmanager", "URL of the Alertmanager"),
    "people": ReceiverWay("people, through Apprise", "people, through Apprise", None),
}


class ReceiverAnswer(Struct, frozen=True, kw_only=True):
    """A receiver as GET /v1/receivers has it."""

    id: str
    version: int
    waiting: int
    waiting_since_us: int | None = None
    system: bool = True
    declared: bool = False
    webhook: dict[str, Any] | None = None
    alertmanager: dict[str, Any] | None = None
    people: dict[str, Any] | None = None

    @property
    def way(self) -> str:
        """Which of the `WAYS` it has; "" where alerting is newer and knows others."""
        return next((way for way in WAYS if getattr(self, way) is not None), "")

    @property
    def way_fields(self) -> dict[str, Any]:
        """How exactly it is told."""
        fields: dict[str, Any] = getattr(self, self.way) if self.way else {}
        return fields

    @property
    def told_by(self) -> str:
        """How it is told, in words."""
        listed = WAYS[self.way].listed if self.way else "a way that this console does not know"
        return f"{listed} {self.way_fields.get('url', '')}".rstrip()


class ReceiverListAnswer(Struct, frozen=True):
    """All receivers."""

    items: list[ReceiverAnswer]


class DeliveryAnswer(Struct, frozen=True, kw_only=True):
    """What a receiver was told, or is to be told: GET /v1/receivers/{id}/deliveries."""

    key: str
    alert: str
    change: str
    state: str
    since_us: int
    attempts: int
    reason: str | None = None


class DeadLetterAnswer(Struct, frozen=True, kw_only=True):
    """A detection that could not be used, as GET /v1/dead-letters has it."""

    dead_id: str
    source: str
    reason: str
    detail: str | None = None
    received_at_us: int | None = None
    area: str | None = None
    stream: str | None = None
    sensor: str | None = None
    late_by_us: int | None = None
    record: Any = None


class SensorAnswer(Struct, frozen=True, kw_only=True):
    """A sensor as GET /v1/sensors has it."""

    id: str
    area: str
    streams: dict[str, Any] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    clock: str | None = None
    beside_clock: dict[str, dict[str, str | None]] = field(default_factory=dict)
    place: dict[str, float] | None = None
    model: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    expect_every_s: float | None = None
    version: int = 0
    health: dict[str, Any] = field(default_factory=dict)


class TemplateAnswer(Struct, frozen=True):
    """A template as GET /v1/templates/{id} has it."""

    id: str
    edges_s: list[float]
    mass: list[float]


class RecentDetectionAnswer(Struct, frozen=True, kw_only=True):
    """A detection that ingest took."""

    number: int
    area: str
    sensor: str
    stream: str
    id: str
    detected_at_us: int
    template: str
    attributes: dict[str, Any] = field(default_factory=dict)


class ShapeAnswer(Struct, frozen=True):
    """A template without its id."""

    edges_s: list[float]
    mass: list[float]


class RecentAnswer(Struct, frozen=True):
    """What ingest took last: GET /v1/detections."""

    items: list[RecentDetectionAnswer]
    templates: dict[str, ShapeAnswer]
    newest: int
    left_out: int
