"""Sorting records by topic, for the database; unreadable records are counted, logged and left out."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from coincide.wire.declarations.query_record import QueryRecord
from coincide.wire.declarations.stream_records import is_stream_key
from coincide.wire.fields import or_none
from coincide.wire.rebuild_record import KEY_PREFIX, decode_rebuild
from services.alerting.alerts.controls import check_control
from services.alerting.metrics import Metrics
from services.alerting.records.records import (
    TOPICS,
    MalformedRecordError,
    decode_status,
    one_line,
    read_dead_letter,
    read_episode,
    read_evidence,
    read_match,
    read_query_record,
)
from services.alerting.store.dead_letter_rows import ReceivedDeadLetter
from services.alerting.store.delivery_rows import DeliveryRecord, decode_delivery
from services.alerting.store.episode_rows import ReceivedEpisode
from services.alerting.store.evidence_rows import ReceivedEvidence
from services.alerting.store.match_rows import ReceivedMatch
from services.common.clock import system_clock_us
from services.common.log.records import Record
from services.common.topics.topic_names import TopicNames

logger = logging.getLogger(__name__)


@dataclass
class Batch:
    """What one poll brought, ready to be stored; of `statuses` and `controls` the newest by key, None a tombstone."""

    matches: list[ReceivedMatch] = field(default_factory=list)
    evidence: list[ReceivedEvidence] = field(default_factory=list)
    episodes: list[ReceivedEpisode] = field(default_factory=list)
    dead_letters: list[ReceivedDeadLetter] = field(default_factory=list)
    changes: list[QueryRecord] = field(default_factory=list)
    statuses: dict[str, str | None] = field(default_factory=dict)
    controls: dict[str, str | None] = field(default_factory=dict)
    deliveries: list[DeliveryRecord] = field(default_factory=list)


def sort_records(records: Sequence[Record], metrics: Metrics, names: TopicNames) -> Batch:
    """Return the readable ones of `records`, each topic's in their order."""
    batch = Batch()
    faults: dict[str, str] = {}
    for topic, group in groupby(records, attrgetter("topic")):
        read, of_topic = READERS[names.short(topic)], list(group)
        metrics.consumed.labels(topic).inc(len(of_topic))
        for record in of_topic:
            try:
                read(batch, record)
            except (ValueError, RecursionError) as error:  # msgspec's and json's errors are ValueErrors, too
                metrics.malformed.labels(topic).inc()
                faults.setdefault(topic, f"partition {record.partition} offset {record.offset}: {error}")
    for topic, fault in faults.items():
        logger.warning("skipped malformed records", extra={"topic": topic, "first": fault})
    return batch


def _add_match(batch: Batch, record: Record) -> None:
    value = _value(record)
    batch.matches.append(ReceivedMatch(read_match(value), one_line(value)))


def _add_evidence(batch: Batch, record: Record) -> None:
    value = _value(record)
    batch.evidence.append(ReceivedEvidence(read_evidence(value), one_line(value), _received_at_us(record)))


def _add_episode(batch: Batch, record: Record) -> None:
    value = _value(record)
    episode = read_episode(value)
    received_at_us = or_none(episode.received_at_us)
    received_at_us = _received_at_us(record) if received_at_us is None else received_at_us
    batch.episodes.append(ReceivedEpisode(episode, one_line(value), received_at_us))


def _add_dead_letter(batch: Batch, record: Record) -> None:
    value = _value(record)
    batch.dead_letters.append(ReceivedDeadLetter(read_dead_letter(value), one_line(value), _received_at_us(record)))


def _add_change(batch: Batch, record: Record) -> None:
    if record.value is None:
        return  # compaction's own marker; the removal itself came before it
    if is_stream_key(record.key):
        return  # `DeclaredStreams` takes it
    change = read_query_record(record.value)
    if record.key not in (None, change.id.encode()):
        raise MalformedRecordError(f"the key is {record.key!r}, the id {change.id!r}")  # compaction goes by the key
    batch.changes.append(change)


def _add_status(batch: Batch, record: Record) -> None:
    key = (record.key or b"").decode()
    if record.value is not None:
        decode = decode_rebuild if key.startswith(KEY_PREFIX) else decode_status
        decode(record.value)
    batch.statuses[key] = None if record.value is None else one_line(record.value)


def _add_control(batch: Batch, record: Record) -> None:
    key = (record.key or b"").decode()
    if record.value is not None:
        check_control(key, record.value)
    batch.controls.pop(key, None)
    batch.controls[key] = None if record.value is None else one_line(record.value)


def _add_delivery(batch: Batch, record: Record) -> None:
    """Take what became of a delivery; what people said of alerts stands on the same topic."""
    if not (record.key or b"").startswith(b"delivery/"):
        _add_control(batch, record)
    elif record.value is not None:
        batch.deliveries.append(decode_delivery(record.value))


def _value(record: Record) -> bytes:
    if record.value is None:
        raise MalformedRecordError("has no value")
    value: bytes = record.value
    return value


def _received_at_us(record: Record) -> int:
    return record.timestamp * 1000 if record.timestamp > 0 else system_clock_us()


READERS: dict[str, Callable[[Batch, Record], None]] = {
    TOPICS.matches: _add_match,
    TOPICS.evidence: _add_evidence,
    TOPICS.episodes: _add_episode,
    TOPICS.dead_letters: _add_dead_letter,
    TOPICS.queries: _add_change,
    TOPICS.status: _add_status,
    TOPICS.deliveries: _add_delivery,
    TOPICS.alert_controls: _add_control,
}
