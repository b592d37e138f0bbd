"""RunRequest: which query is asked of which part of the past."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from coincide.errors import QueryError
from coincide.queries import AnyQuery, ReadingsQuery, query_from_json
from services.common.content_ids import content_id

RunSource = Literal["archive", "topic"]
SOURCES: tuple[RunSource, ...] = ("archive", "topic")
LONGEST_RANGE_S = 366 * 86_400.0


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

    def __post_init__(self) -> None:
        if not self.from_us < self.to_us:
            raise RunError(f"from {shown_time(self.from_us)} is not before to {shown_time(self.to_us)}")
        if self.to_us - self.from_us > LONGEST_RANGE_S * 1e6:
            raise RunError(f"the range is longer than {LONGEST_RANGE_S / 86_400:g} days")
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
        if isinstance(self.query, ReadingsQuery) and self.min_threshold is not None:
            raise RunError(f"query {self.query.id} says something of every window: it has no threshold to be lowered")
        if self.as_live and self.min_threshold is not None:
            raise RunError("min_threshold is for complete runs: the live job gave no matches below its threshold")

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
        }

    @classmethod
    def from_json(cls, fields: Any) -> "RunRequest":
        """Read a request; RunError says what is wrong with it."""
        try:
            return cls(**{**fields, "query": query_from_json(fields["query"])})
        except (KeyError, TypeError, QueryError) as error:
            raise RunError(f"the request cannot be read: {error}") from None


def parsed_time(text: str) -> int:
    """Return microseconds of an RFC 3339 time with its offset, or of whole microseconds.

    Examples
    --------
    >>> parsed_time("1987-02-23T07:35:35Z"), parsed_time("1760000000000000")
    (541064135000000, 1760000000000000)
    """
    if text.lstrip("-").isdigit():
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise RunError(f"{text!r} is no time: RFC 3339, such as 2026-11-22T09:30:00Z, or microseconds") from None
    if time.tzinfo is None:
        raise RunError(f"{text!r} has no offset: write 2026-11-22T09:30:00Z or ...+01:00")
    seconds = time.replace(microsecond=0).timestamp()
    return int(seconds) * 1_000_000 + time.microsecond


def shown_time(us: int) -> str:
    """Return a time as a person reads it, or its microseconds where a calendar has none."""
    try:
        return datetime.fromtimestamp(us // 1_000_000).astimezone().isoformat()
    except (OverflowError, ValueError, OSError):
        return str(us)
