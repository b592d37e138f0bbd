"""What the history process answers, as far as the console reads it: runs, comparisons, and what was learnt."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from services.console.rest.sensor_answers import SharedAnswer

DAY_S = 86_400.0


class AnyRunAnswer(Struct, frozen=True, kw_only=True):
    """How far a run of either kind has come."""

    run: str
    state: str
    started_at_us: int
    progress: float = 0.0
    ahead: int = 0
    error: str | None = None
    detections: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing changes any more."""
        return self.state not in {"queued", "running"}


class RunRequestAnswer(Struct, frozen=True, kw_only=True):
    """What was asked."""

    query: dict[str, Any]
    from_us: int
    to_us: int
    source: str
    as_live: bool
    min_threshold: float | None = None
    keeps_matches: bool = True
    slides: int | None = None

    @property
    def query_id(self) -> str:
        """The query's id."""
        return str(self.query.get("id", ""))


class CurvePointAnswer(Struct, frozen=True):
    """How many matches and episodes reach a threshold, and how many matches chance would give."""

    threshold: float
    matches: int
    episodes: int | None = None
    chance: float | None = None
    chance_error: float | None = None
    chance_is_upper_bound: bool = False


class SlidesAnswer(Struct, frozen=True, kw_only=True):
    """What time slides say of chance at the query's own threshold."""

    slides: int
    chance: float
    chance_per_day: float
    interval_per_day: tuple[float, float]
    recorded_s: float
    areas: int
    areas_left_out: int
    slides_overlap: bool

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of `chance`, 90 %."""
        days = self.recorded_s / self.areas / DAY_S
        if self.chance_per_day > 0:
            days = self.chance / self.chance_per_day
        low, high = self.interval_per_day
        return low * days, high * days


class RunAnswer(AnyRunAnswer, frozen=True, kw_only=True):
    """A run as GET /v1/history-runs/{id} has it."""

    request: RunRequestAnswer
    frames: int | None = None
    no_number: int = 0
    matches: int | None = None
    episodes: int | None = None
    own_threshold: float | None = None
    curve: list[CurvePointAnswer] = field(default_factory=list)
    curve_of: str | None = None
    slides: SlidesAnswer | None = None
    slides_unknown: str | None = None

    @property
    def slides_at(self) -> tuple[float, SlidesAnswer] | None:
        """What time slides say, and at which threshold."""
        return None if self.slides is None or self.own_threshold is None else (self.own_threshold, self.slides)

    @property
    def has_matches(self) -> bool:
        """Whether it can be compared."""
        return self.state == "done" and self.request.keeps_matches


class LearningRequestAnswer(Struct, frozen=True, kw_only=True):
    """What was asked of a run that learns templates."""

    from_us: int
    to_us: int
    lo_s: float
    hi_s: float
    reference_stream: str | None = None
    area: str | None = None
    streams: list[str] | None = None


class LearningAnswer(AnyRunAnswer, frozen=True, kw_only=True):
    """A run that learns templates: GET /v1/learning-runs/{id}."""

    request: LearningRequestAnswer
    looked_at: int | None = None
    templates: int | None = None
    proposed: int | None = None


class LearntFitAnswer(Struct, frozen=True, kw_only=True):
    """From how many errors, and how well it and the present template fit later ones: nats an error."""

    errors: int
    pool: str
    score: float | None = None
    present_score: float | None = None
    shared: SharedAnswer | None = None


class LearntAnswer(Struct, frozen=True, kw_only=True):
    """What was learnt of one sensor on one stream: a line of GET /v1/learning-runs/{id}/templates."""

    sensor: str
    stream: str
    errors: int
    ambiguous: int
    unmatched: int
    blurred: int
    echoes: int = 0
    learnt: LearntFitAnswer | None
    is_proposed: bool


class ChangedAnswer(Struct, frozen=True):
    """A match whose probability differs."""

    id: str
    before: float
    now: float


class ChangedEvidenceAnswer(Struct, frozen=True):
    """A match whose evidence differs: its posterior, where that is known."""

    id: str
    before: float | None
    now: float | None


class ComparedEvidenceAnswer(Struct, frozen=True, kw_only=True):
    """Of how many matches evidence is told by one answer alone, differs or is the same."""

    counts: dict[str, int]
    changed: list[ChangedEvidenceAnswer]


class ComparisonAnswer(Struct, frozen=True, kw_only=True):
    """A run beside another one, or what is live; `evidence` where either tells any."""

    counts: dict[str, int]
    added: list[str]
    gone: list[str]
    changed: list[ChangedAnswer]
    live_from_us: int | None = None
    evidence: ComparedEvidenceAnswer | None = None


class FoundMemberAnswer(Struct, frozen=True):
    """Who detected a member of a match, and when."""

    sensor: str
    detected_at_us: int


class FoundMatchAnswer(Struct, frozen=True, kw_only=True):
    """As much of a match as says when and where it was."""

    id: str
    area: str
    probability: float
    members: list[FoundMemberAnswer]

    @property
    def where(self) -> str:
        """Its area, and who saw it."""
        return f"{self.area}: {', '.join(sorted({each.sensor for each in self.members}))}"

    @property
    def times_us(self) -> tuple[int, int]:
        """When the first and the last member were detected."""
        times = [each.detected_at_us for each in self.members]
        return min(times), max(times)
