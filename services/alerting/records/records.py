"""The Kafka records that alerting reads, and the checks that they must pass.

Only what alerting needs of a record is declared; further members (`occurred`, `chance_rate_hz`) are kept in the stored
JSON and passed on, so a newer fusion job can add some before alerting knows them.
"""

import hashlib
from dataclasses import astuple, dataclass
from typing import Annotated, Literal

import msgspec

from coincide.wire import fields
from services.common.nesting import MOST_LEVELS, is_too_deep

INT64_MAX = 2**63 - 1
NO_NUL = r"^[^\x00]*$"  # PostgreSQL keeps that character in no text

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Word = Annotated[str, msgspec.Meta(max_length=200, pattern=NO_NUL)]
Version = Annotated[int, msgspec.Meta(ge=1, le=INT64_MAX)]
Microseconds = Annotated[int, msgspec.Meta(ge=-INT64_MAX, le=INT64_MAX)]


class MalformedRecordError(ValueError):
    """A record that breaks the contract of its topic."""


#: A name in a match: what a pattern of `Name` refuses costs most of a match's parsing, so `read_match` refuses it.
MatchName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class MemberRecord(msgspec.Struct, gc=False):
    """The sensor that a member of a match came from."""

    sensor: MatchName


class MatchRecord(msgspec.Struct, gc=False):
    """A record of coincide.matches."""

    v: Literal[1]
    id: MatchName
    query: MatchName
    query_version: Version
    area: MatchName
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)]
    earliest_us: Microseconds
    latest_us: Microseconds
    received_at_us: Microseconds
    members: Annotated[list[MemberRecord], msgspec.Meta(min_length=1)]
    supersedes: list[MatchName] = []


class DeadLetterRecord(msgspec.Struct):
    """A record of coincide.dead-letters."""

    v: Literal[1]
    source: Name
    reason: Name
    area: Word | None = None
    sensor: Word | None = None
    dead_id: Name | None = None


class QueryChange(msgspec.Struct):
    """A record of coincide.queries: a query as it is from `version` on, or its removal."""

    v: Literal[1]
    id: Name
    version: Version
    changed_at_us: Microseconds
    paused: bool = False
    removed: bool = False
    query: dict[str, object] | None = None

    def __post_init__(self) -> None:
        if self.removed == (self.query is not None):
            raise ValueError("either removed is true or query is given")
        if is_too_deep(self.query):
            raise ValueError(f"query is nested more than {MOST_LEVELS} levels deep")


def encode_query_change(change: QueryChange) -> bytes:
    """Return `change` as the queries topic has it."""
    fields = msgspec.structs.asdict(change)
    if change.removed:
        del fields["paused"], fields["query"]
    else:
        del fields["removed"]
    return msgspec.json.encode(fields)


class Suspension(msgspec.Struct):
    """Why a shard has suspended a query in an area, or everywhere."""

    limit: str
    allowed: int | float | None
    reached: int | float | None
    received_at_us: fields.Microseconds
    area: str | None = None
    sensor: str | None = None
    id: str | None = None


class AppliedQuery(msgspec.Struct):
    """What a shard says of one query."""

    version: Version
    matches: int = 0
    episodes: int | None = None
    coalescing: dict[str, object] | None = None
    suspended: dict[str, Suspension] = {}  # by area, "" for everywhere


class RatesByArea(msgspec.Struct):
    """Detections a second that a shard sees: by area and stream, and by stream in all other areas together."""

    areas: dict[str, dict[str, float]] = {}
    elsewhere: dict[str, float] = {}


class ShardStatus(msgspec.Struct):
    """A record of coincide.status."""

    v: Literal[1]
    shard: int
    queries: dict[str, AppliedQuery]
    totals: dict[str, Annotated[int, msgspec.Meta(ge=0, le=2**53)]] = {}  # so that the sum of all shards fits 64 bits
    busiest_hz: dict[str, float] = {}
    rates_hz: RatesByArea = msgspec.field(default_factory=RatesByArea)


class RebuildRecord(msgspec.Struct, omit_defaults=True):
    """A record of coincide.status whose key is not a shard's: a rebuild of fusion, and how far it is.

    Alerting writes one that is `asked` for; fusion writes it again when it begins, while it runs, and at its end.
    """

    v: Literal[1]
    id: Name
    state: Literal["asked", "running", "failed", "done"]
    asked_at_us: Microseconds | None = None
    by: str | None = None
    why: str | None = None
    began_at_us: Microseconds | None = None
    told_at_us: Microseconds | None = None
    records: Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)] = 0
    read: Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)] = 0
    failure: str | None = None


#: So begin the keys of these records.
REBUILD = "rebuild/"


def is_of_rebuild(key: bytes | None) -> bool:
    """Whether a record of coincide.status is of a rebuild, and of no shard."""
    return (key or b"").startswith(REBUILD.encode())


match_decoder = msgspec.json.Decoder(MatchRecord)
dead_letter_decoder = msgspec.json.Decoder(DeadLetterRecord)
query_change_decoder = msgspec.json.Decoder(QueryChange)
shard_status_decoder = msgspec.json.Decoder(ShardStatus)
rebuild_decoder = msgspec.json.Decoder(RebuildRecord)


def read_match(value: bytes) -> MatchRecord:
    """Return the match in `value`; a `ValueError` says what breaks the contract."""
    match = match_decoder.decode(value)
    if match.id in match.supersedes:
        raise MalformedRecordError("supersedes itself")
    if b"\\" in value:  # JSON has NUL as an escape only
        names = match.id, match.query, match.area, *match.supersedes, *(member.sensor for member in match.members)
        if any("\0" in name for name in names):
            raise MalformedRecordError("the character NUL is in a name")
    return match


def one_line(value: bytes) -> str:
    """Return the JSON in `value` as text on one line, as server-sent events want it.

    A `ValueError` says why it cannot be read whole. The decoders of records pass over what they do not know, and lists
    in other formats read all of it again.
    """
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise MalformedRecordError("is not UTF-8") from error
    msgspec.json.decode(value)
    return msgspec.json.format(text, indent=-1) if "\n" in text or "\r" in text else text


def dead_letter_id(letter: DeadLetterRecord, value: bytes) -> str:
    """Return the letter's own id, or else the hash of its bytes: the same letter read twice is stored once."""
    return letter.dead_id or "d-" + hashlib.sha256(value).hexdigest()[:32]


#: States in the order in which an episode goes through them at one revision; a state's rank is its place here.
STATES = ("open", "closed", "final", "retracted")
RETRACTED = STATES.index("retracted")

Count = Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)]
Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]


class EpisodeRecord(msgspec.Struct):
    """A record of coincide.episodes; one that is `retracted` need not say more of the episode than its id."""

    v: Literal[1]
    id: Name
    query: Name
    query_version: Version
    area: Name
    revision: Count
    retracted: bool = False
    replaced_by: list[Name] = []
    start_us: Microseconds | None = None
    end_us: Microseconds | None = None
    count: Count | None = None
    best_probability: Probability | None = None
    open: bool | None = None
    final: bool | None = None
    received_at_us: Microseconds | None = None
    group: dict[str, object] = {}

    def __post_init__(self) -> None:
        if self.id in self.replaced_by:
            raise ValueError("is replaced by itself")
        if self.start_us is not None and self.end_us is not None and self.start_us > self.end_us:
            raise ValueError("start_us is after end_us")
        if self.open and self.final:
            raise ValueError("is open and final")
        if not self.retracted:
            for name in ("start_us", "end_us", "count", "open", "final", "received_at_us"):
                if getattr(self, name) is None:
                    raise ValueError(f"neither is retracted true nor {name} given")

    @property
    def rank(self) -> int:
        """Place of its state in `STATES`: of two records at one revision the greater counts."""
        if self.retracted:
            return RETRACTED
        return STATES.index("open" if self.open else "final" if self.final else "closed")


episode_decoder = msgspec.json.Decoder(EpisodeRecord)


@dataclass(frozen=True)
class Topics:
    """Short names of topics, as in `config/topics.yaml`."""

    matches: str = "matches"
    dead_letters: str = "dead-letters"
    queries: str = "queries"
    status: str = "status"
    episodes: str = "episodes"
    deliveries: str = "deliveries"
    alert_controls: str = "alert-controls"

    def names(self) -> tuple[str, ...]:
        """Return every name."""
        return astuple(self)

    def of_memory(self) -> tuple[str, ...]:
        """Return those to be read before what they are about: what people said of alerts, and who has heard of them."""
        return self.deliveries, self.alert_controls

    def without_holes(self) -> tuple[str, ...]:
        """Return those that are not compacted: each offset has a record until Kafka deletes the oldest."""
        return self.matches, self.episodes, self.dead_letters

    def awaited(self) -> tuple[str, ...]:
        """Return those that requests change, of one partition each: who changes one waits until it was read so far."""
        return self.queries, self.status, *self.of_memory()


TOPICS = Topics()
DETECTIONS = "detections"  # of which alerting only asks whether it grows
