"""coincide.audit, read backwards: a page of changes, newest first, after a look at a bounded number of records."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
from kafka import KafkaConsumer, TopicPartition

from services.common.access.audit import AUDIT, AuditedChange
from services.common.compacted_topic import ANSWER_TIMEOUT_MS, end_offset, poll
from services.common.nesting import MOST_LEVELS, is_too_deep
from services.common.topic_names import TopicNames

STRIDE = 1_000
MOST_LOOKED_AT = 20_000
MOST_EMPTY_POLLS = 20

log = logging.getLogger(__name__)
_decode = msgspec.json.Decoder(AuditedChange).decode

Wanted = Callable[[AuditedChange], bool]


def read_newest(
    connect: Callable[[], KafkaConsumer], names: TopicNames, before: int | None, limit: int, wanted: Wanted
) -> tuple[list[AuditedChange], int | None]:
    """Return at most `limit` changes that are `wanted`, of offsets below `before` (None: from the newest on).

    Also returns the `before` of the next page; None where there are no older ones. A page may hold fewer than `limit`,
    even none, where the wanted are rare: it looks at `MOST_LOOKED_AT` records. Raises `KafkaError`.
    """
    consumer, partition = connect(), TopicPartition(names.full(AUDIT), 0)
    try:
        consumer.assign([partition])
        begin: int = consumer.beginning_offsets([partition], timeout_ms=ANSWER_TIMEOUT_MS)[partition]
        end = end_offset(consumer, partition)
        at = end if before is None else min(before, end)
        least = max(begin, at - MOST_LOOKED_AT)
        found: list[AuditedChange] = []
        while at > least:
            start = max(least, at - STRIDE)
            for offset, change in reversed(_between(consumer, partition, start, at)):
                at = offset
                if change is not None and wanted(change):
                    found.append(change)
                    if len(found) == limit:
                        return found, at if at > begin else None
            at = start
        return found, at if at > begin else None
    finally:
        consumer.close(autocommit=False, timeout_ms=1_000)


def _between(
    consumer: KafkaConsumer, partition: TopicPartition, start: int, end: int
) -> list[tuple[int, AuditedChange | None]]:
    consumer.seek(partition, start)
    read: list[tuple[int, AuditedChange | None]] = []
    empty = 0
    while consumer.position(partition, timeout_ms=ANSWER_TIMEOUT_MS) < end and empty < MOST_EMPTY_POLLS:
        records = poll(consumer, partition)
        empty = 0 if records else empty + 1
        if not records:
            end_offset(consumer, partition)  # raises when Kafka has gone, of which poll() says nothing
        read += [(record.offset, _change_in(record.offset, record.value)) for record in records if record.offset < end]
    return read


def _change_in(offset: int, value: bytes | None) -> AuditedChange | None:
    try:
        change = _decode(value or b"")
        if is_too_deep([change.before, change.after]):
            raise ValueError(f"what was changed is nested more than {MOST_LEVELS} levels deep")  # noqa: TRY301
    except (ValueError, RecursionError) as error:
        log.warning("a record of the audit topic is none", extra={"offset": offset, "fault": str(error)})
        return None
    return change
