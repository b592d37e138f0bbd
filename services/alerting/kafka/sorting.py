"""Sorting Kafka records by topic, for the database; unreadable records are counted, logged and left out."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from services.alerting.kafka.records import (
    MalformedRecordError,
    QueryChange,
    Topics,
    dead_letter_decoder,
    dead_letter_id,
    episode_decoder,
    match_decoder,
    one_line,
    query_change_decoder,
    shard_status_decoder,
)
from services.alerting.metrics import Metrics
from services.alerting.store.dead_letter_rows import ReceivedDeadLetter
from services.alerting.store.episode_rows import ReceivedEpisode
from services.alerting.store.match_rows import ReceivedMatch

logger = logging.getLogger(__name__)


class KafkaRecord(Protocol):
    """The members of a Kafka client's record that alerting uses; `timestamp` in milliseconds, -1 for none."""

    @property
    def topic(self) -> str: ...  # noqa: D102
    @property
    def partition(self) -> int: ...  # noqa: D102
    @property
    def offset(self) -> int: ...  # noqa: D102
    @property
    def timestamp(self) -> int: ...  # noqa: D102
    @property
    def key(self) -> bytes | None: ...  # noqa: D102
    @property
    def value(self) -> bytes | None: ...  # noqa: D102


@dataclass
class Batch:
    """What one poll brought, ready to be stored; `statuses` keeps the newest by key, None is a tombstone."""

    matches: list[ReceivedMatch] = field(default_factory=list)
    episodes: list[ReceivedEpisode] = field(default_factory=list)
    dead_letters: list[ReceivedDeadLetter] = field(default_factory=list)
    changes: list[QueryChange] = field(default_factory=list)
    statuses: dict[str, str | None] = field(default_factory=dict)


class Sorter:
    """Turns records into batches."""

    def __init__(self, topics: Topics, metrics: Metrics) -> None:
        self._metrics = metrics
        self._readers: dict[str, Callable[[Batch, KafkaRecord], None]] = {
            topics.matches: _add_match,
            topics.episodes: _add_episode,
            topics.dead_letters: _add_dead_letter,
            topics.queries: _add_change,
            topics.status: _add_status,
        }

    def sort(self, records: Sequence[KafkaRecord]) -> Batch:
        """Return the readable ones of `records`, each topic's in their order."""
        batch = Batch()
        faults: dict[str, str] = {}
        for record in records:
            try:
                self._readers[record.topic](batch, record)
            except ValueError as error:  # msgspec's and json's errors are ValueErrors too
                self.refuse(record)
                faults.setdefault(record.topic, f"partition {record.partition} offset {record.offset}: {error}")
        for topic, count in Counter(record.topic for record in records).items():
            self._metrics.consumed.labels(topic).inc(count)
        for topic, fault in faults.items():
            logger.warning("skipped malformed records", extra={"topic": topic, "first": fault})
        return batch

    def refuse(self, record: KafkaRecord) -> None:
        """Count `record` as malformed."""
        self._metrics.malformed.labels(record.topic).inc()


def _add_match(batch: Batch, record: KafkaRecord) -> None:
    value = _value(record)
    batch.matches.append(ReceivedMatch(match_decoder.decode(value), one_line(value)))


def _add_episode(batch: Batch, record: KafkaRecord) -> None:
    value = _value(record)
    episode = episode_decoder.decode(value)
    received_at_us = _received_at_us(record) if episode.received_at_us is None else episode.received_at_us
    batch.episodes.append(ReceivedEpisode(episode, one_line(value), received_at_us))


def _add_dead_letter(batch: Batch, record: KafkaRecord) -> None:
    value = _value(record)
    letter = dead_letter_decoder.decode(value)
    received = ReceivedDeadLetter(dead_letter_id(letter, value), letter, one_line(value), _received_at_us(record))
    batch.dead_letters.append(received)


def _add_change(batch: Batch, record: KafkaRecord) -> None:
    if record.value is None:
        return  # compaction's own marker; the removal itself came before it
    change = query_change_decoder.decode(record.value)
    if record.key not in (None, change.id.encode()):
        raise MalformedRecordError(f"the key is {record.key!r}, the id {change.id!r}")  # compaction goes by the key
    batch.changes.append(change)


def _add_status(batch: Batch, record: KafkaRecord) -> None:
    key = (record.key or b"").decode()
    if record.value is not None:
        shard_status_decoder.decode(record.value)
    batch.statuses[key] = None if record.value is None else one_line(record.value)


def _value(record: KafkaRecord) -> bytes:
    if record.value is None:
        raise MalformedRecordError("has no value")
    return record.value


def _received_at_us(record: KafkaRecord) -> int:
    return record.timestamp * 1000 if record.timestamp > 0 else time.time_ns() // 1000
