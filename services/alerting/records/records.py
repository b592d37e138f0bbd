"""The Kafka records that alerting reads, and the checks that they must pass.

What a record has that its contract does not know is kept in the stored JSON and passed on, so a newer fusion job can
add to it before alerting knows.
"""

from dataclasses import astuple, dataclass

import msgspec

from coincide.wire.declarations.query_record import QueryRecord, decode_query
from coincide.wire.rebuild_record import KEY_PREFIX
from coincide.wire.results.dead_letter import DeadLetter
from coincide.wire.results.episode_record import EpisodeRecord
from coincide.wire.results.evidence_record import EvidenceRecord
from coincide.wire.results.match_record import MatchRecord
from coincide.wire.status_record import StatusRecord
from services.common.nesting import MOST_LEVELS, is_too_deep

NO_NUL = r"^[^\x00]*$"  # PostgreSQL keeps that character in no text


class MalformedRecordError(ValueError):
    """A record that breaks the contract of its topic."""


def read_query_record(value: bytes) -> QueryRecord:
    """Return the version of a query in `value`, or its removal; a `ValueError` says what breaks the contract."""
    record = decode_query(value)
    _refuse_nul(value, record.id)
    if is_too_deep(record.document):
        raise MalformedRecordError(f"query is nested more than {MOST_LEVELS} levels deep")
    return record


def is_of_rebuild(key: bytes | None) -> bool:
    """Whether a record of coincide.status is of a rebuild, and of no shard."""
    return (key or b"").startswith(KEY_PREFIX.encode())


decode_status = msgspec.json.Decoder(StatusRecord).decode


_match_decoder = msgspec.json.Decoder(MatchRecord)
_evidence_decoder = msgspec.json.Decoder(EvidenceRecord)
_episode_decoder = msgspec.json.Decoder(EpisodeRecord)
_dead_letter_decoder = msgspec.json.Decoder(DeadLetter)


def read_match(value: bytes) -> MatchRecord:
    """Return the match in `value`; a `ValueError` says what breaks the contract."""
    match = _match_decoder.decode(value)
    of_members = (member.sensor for member in match.members)
    _refuse_nul(value, match.id, match.query, match.area, *(match.supersedes or ()), *of_members)
    return match


def read_evidence(value: bytes) -> EvidenceRecord:
    """Return the evidence in `value`; see `read_match`."""
    evidence = _evidence_decoder.decode(value)
    of_members = (text for member in evidence.members for text in (member.sensor, member.id))
    _refuse_nul(value, evidence.id, evidence.query, evidence.area, *of_members)
    return evidence


def read_episode(value: bytes) -> EpisodeRecord:
    """Return the episode, or its retraction, in `value`; see `read_match`."""
    episode = _episode_decoder.decode(value)
    _refuse_nul(value, episode.id, episode.query, episode.area)
    return episode


def read_dead_letter(value: bytes) -> DeadLetter:
    """Return the dead letter in `value`; see `read_match`."""
    letter = _dead_letter_decoder.decode(value)
    _refuse_nul(value, letter.dead_id, letter.source, letter.reason, letter.area or "", letter.sensor or "")
    return letter


def _refuse_nul(value: bytes, *columns: str) -> None:
    """Refuse what PostgreSQL keeps in no column; a pattern in the contract would cost most of a record's reading."""
    if b"\\" in value and any("\0" in column for column in columns):  # JSON has NUL as an escape only
        raise MalformedRecordError("the character NUL is in a name")


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
    evidence: str = "evidence"

    def names(self) -> tuple[str, ...]:
        """Return every name."""
        return astuple(self)

    def of_memory(self) -> tuple[str, ...]:
        """Return those to be read before what they are about: what people said of alerts, and who has heard of them."""
        return self.deliveries, self.alert_controls

    def without_holes(self) -> tuple[str, ...]:
        """Return those that are not compacted: each offset has a record until Kafka deletes the oldest."""
        return self.matches, self.evidence, self.episodes, self.dead_letters

    def awaited(self) -> tuple[str, ...]:
        """Return those that requests change, of one partition each: who changes one waits until it was read so far."""
        return self.queries, self.status, *self.of_memory()


TOPICS = Topics()
DETECTIONS = "detections"  # of which alerting only asks whether it grows
