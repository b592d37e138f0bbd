"""What is asked of a part of the past: a query (`RunRequest`), or what its detections teach (`LearningRequest`)."""

import re
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Literal

from coincide import Window
from coincide.arrays.instants import in_utc, written_us
from coincide.errors import QueryError, WindowError
from coincide.queries import AnyQuery, query_from_json
from coincide.wire.content_ids import content_id

RunSource = Literal["archive", "topic"]
SOURCES: tuple[RunSource, ...] = ("archive", "topic")
LONGEST_RANGE_S = 366 * 86_400.0
MOST_BUCKETS, MOST_STREAMS = 64, 100
MOST_SLIDES = 1_000  # each is as much work as the run itself
USUAL_ERROR_S = 60.0
_WHOLE = re.compile(r"-?[0-9]{1,18}")


class RunError(Exception):
    """A run that cannot be done; the message is one sentence for the person who asked for it."""


@dataclass(frozen=True)
class RunRequest:
    """What is asked: a query over [from_us, to_us).

    With `as_live` the range is of `received_at`, and the answer is that of the live job. Without, it is of
    `detected_at`, and the answer is complete: nobody is late. `min_threshold` lowers the threshold for the curve.
    """

    query: AnyQuery
    from_us: int
    to_us: int
    source: RunSource = "archive"
    as_live: bool = False
    min_threshold: float | None = None
    warm_up_s: float | None = None  # as_live: begin so long before; None: at the first record that the topic still has
    keeps_matches: bool = True  # complete: else the run counts them only, which takes a fraction of the time
    follows_changes: bool = False  # as_live: each version counts where it took effect; else the query all the time
    slides: int | None = None  # complete: so many time slides count what chance gives, beside the formula

    def __post_init__(self) -> None:
        _check_range(self.from_us, self.to_us)
        if self.source not in SOURCES:
            raise RunError(f"source is {self.source!r}: one of {', '.join(SOURCES)}")
        if self.as_live and self.source == "archive":
            raise RunError(
                "a run as live reads the topic (--source topic): the archive does not have the heartbeats, which tell "
                "what was late"
            )
        if self.as_live and not self.keeps_matches:
            raise RunError("keeps_matches is for complete runs: a run as live writes its matches")
        if self.min_threshold is not None and not 0 < self.min_threshold <= 1:
            raise RunError(f"min_threshold is {self.min_threshold!r}: a probability above 0, at most 1")
        if self.query.own_threshold is None and self.min_threshold is not None:
            raise RunError(f"query {self.query.id} says something of every window: it has no threshold to be lowered")
        if self.as_live and self.min_threshold is not None:
            raise RunError("min_threshold is for complete runs: the live job gave no matches below its threshold")
        if self.warm_up_s is not None:
            self._check_warm_up(self.warm_up_s)
        if self.slides is not None:
            self._check_slides(self.slides)

    def _check_slides(self, slides: int) -> None:
        if self.as_live or self.query.kind != "join":
            raise RunError("slides is for complete runs of queries that join: nothing else has matches by chance")
        if self.query.needs_places:
            raise RunError(f"query {self.query.id} asks where sensors are: slides cannot tell what chance gives it")
        if not isinstance(slides, int) or not 1 <= slides <= MOST_SLIDES:
            raise RunError(f"slides is {slides!r}: how many time slides, 1 to {MOST_SLIDES}")

    def _check_warm_up(self, warm_up_s: float) -> None:
        if not self.as_live:
            raise RunError("warm_up_s is for runs as live: a complete run reads what it needs of the time before")
        if not 0 <= warm_up_s <= LONGEST_RANGE_S:
            raise RunError(f"warm_up_s is {warm_up_s!r}: 0 to {LONGEST_RANGE_S:.0f} seconds")

    @property
    def id(self) -> str:
        """The run's id, made from what is asked: who asks the same again finds the same run."""
        return content_id("r", self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON."""
        return {
            "query": self.query.to_json(),
            "from_us": self.from_us,
            "to_us": self.to_us,
            "source": self.source,
            "as_live": self.as_live,
            "min_threshold": self.min_threshold,
            "warm_up_s": self.warm_up_s,
            "keeps_matches": self.keeps_matches,
            "follows_changes": self.follows_changes,
            **({} if self.slides is None else {"slides": self.slides}),
        }

    @classmethod
    def from_json(cls, fields: Any) -> "RunRequest":
        """Read a request; RunError says what is wrong with it."""
        try:
            return cls(**{**fields, "query": query_from_json(fields["query"])})
        except (KeyError, TypeError, QueryError) as error:
            raise RunError(f"the request cannot be read: {error}") from None


@dataclass(frozen=True)
class LearningRequest:
    """Templates that the archive's detections in [from_us, to_us) teach, of an area or of all.

    Errors from `lo_s` to `hi_s` are looked for, true minus reported time: against a stream that is right, or against
    what the other sensors of an area say together.
    """

    from_us: int
    to_us: int
    lo_s: float = -USUAL_ERROR_S
    hi_s: float = USUAL_ERROR_S
    reference_stream: str | None = None  # None: what the others say together
    area: str | None = None
    streams: tuple[str, ...] | None = None  # that are learnt; None: all
    buckets: int = 8

    keeps_matches: ClassVar[bool] = True  # it waits behind runs that count only
    source: ClassVar[RunSource] = "archive"

    def __post_init__(self) -> None:
        _check_range(self.from_us, self.to_us)
        _ = self.within, self.days
        if not 1 <= self.buckets <= MOST_BUCKETS:
            raise RunError(f"buckets is {self.buckets}: 1 to {MOST_BUCKETS}")
        if self.streams is not None and not 1 <= len(self.streams) <= MOST_STREAMS:
            raise RunError(f"streams has {len(self.streams)} names: 1 to {MOST_STREAMS}, or leave it out for all")
        if self.reference_stream is not None and self.reference_stream in (self.streams or ()):
            raise RunError(f"streams has {self.reference_stream!r}, the reference_stream: it is taken to be right")

    @property
    def within(self) -> Window:
        """Where errors are looked for."""
        try:
            return Window(lo_s=self.lo_s, hi_s=self.hi_s)
        except WindowError as error:
            raise RunError(f"within: {error}") from None

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day of the range, in UTC."""
        return days_between(self.from_us, self.to_us)

    def learns(self, stream: str) -> bool:
        """Whether templates of a stream are wanted."""
        return stream != self.reference_stream and (self.streams is None or stream in self.streams)

    @property
    def id(self) -> str:
        """The run's id, made from what is asked."""
        return content_id("r", {"learning": self.to_json()})

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON."""
        return {**asdict(self), "streams": None if self.streams is None else list(self.streams)}

    @classmethod
    def from_json(cls, fields: Any) -> "LearningRequest":
        """Read a request; RunError says what is wrong with it."""
        try:
            return cls(**{**fields, "streams": None if fields["streams"] is None else tuple(fields["streams"])})
        except (KeyError, TypeError) as error:
            raise RunError(f"the request cannot be read: {error}") from None


AnyRequest = RunRequest | LearningRequest


def request_in(fields: Any) -> AnyRequest:
    """Read what `to_json` of either wrote; RunError says what is wrong with it."""
    return RunRequest.from_json(fields) if asks_query(fields) else LearningRequest.from_json(fields)


def asks_query(fields: Any) -> bool:
    """Whether it was a `RunRequest` that `to_json` wrote."""
    return isinstance(fields, dict) and "query" in fields


def _check_range(from_us: int, to_us: int) -> None:
    if not from_us < to_us:
        raise RunError(f"from {shown_time(from_us)} is not before to {shown_time(to_us)}")
    if to_us - from_us > LONGEST_RANGE_S * 1e6:
        raise RunError(f"the range is longer than {LONGEST_RANGE_S / 86_400:g} days")


def days_between(from_us: int, to_us: int) -> tuple[date, date]:
    """Return the first and the last day of [from_us, to_us), in UTC."""
    try:
        first, last = (datetime.fromtimestamp(us // 1_000_000, UTC) for us in (from_us, to_us - 1))
    except (OverflowError, ValueError, OSError):
        raise RunError(f"no calendar has the time {from_us} or {to_us}") from None
    return first.date(), last.date()


def parsed_time(text: str) -> int:
    """Return microseconds of an RFC 3339 time with its offset, or of whole microseconds.

    Examples
    --------
    >>> parsed_time("1987-02-23T07:35:35Z"), parsed_time("1760000000000000")
    (541064135000000, 1760000000000000)
    """
    if _WHOLE.fullmatch(text):
        return int(text)
    if in_utc(text) is not None:
        raise RunError(f"{text!r} has no offset: write 2026-11-22T09:30:00Z or ...+01:00")
    why = "RFC 3339, such as 2026-11-22T09:30:00Z, or microseconds"
    try:
        time_us = written_us(text)
    except ValueError as error:
        raise RunError(f"{text[:80]!r} is no time: {why} ({error})") from None
    if time_us is None:
        raise RunError(f"{text[:80]!r} is no time: {why}")
    return time_us


def shown_time(us: int) -> str:
    """Return a time as a person reads it, or its microseconds where a calendar has none."""
    try:
        return datetime.fromtimestamp(us // 1_000_000).astimezone().isoformat()
    except (OverflowError, ValueError, OSError):
        return str(us)
