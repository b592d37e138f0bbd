"""coincide.audit, read backwards: a page of changes, newest first, after a look at a bounded number of records."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from services.common.access.audit import AUDIT, AuditedChange
from services.common.log.reader import LogReader, StoppedError
from services.common.log.records import TopicPartition
from services.common.nesting import MOST_LEVELS, is_too_deep
from services.common.topics.compacted_topic import Connect
from services.common.topics.topic_names import TopicNames

STRIDE = 1_000
MOST_LOOKED_AT = 20_000
LONGEST_READ_S = 10.0

log = logging.getLogger(__name__)
_decode = msgspec.json.Decoder(AuditedChange).decode

Wanted = Callable[[AuditedChange], bool]


def read_newest(
    connect: Connect, names: TopicNames, before: int | None, limit: int, wanted: Wanted
) -> tuple[list[AuditedChange], int | None]:
    """Return at most `limit` changes that are `wanted`, of offsets below `before` (None: from the newest on).

    Also returns the `before` of the next page; None where there are no older ones. A page may hold fewer than `limit`,
    even none, where the wanted are rare: it looks at `MOST_LOOKED_AT` records. Raises `LogError`.
    """
    partition = TopicPartition(names.full(AUDIT), 0)
    with connect() as reader:
        reader.read_from({partition: None})
        begin, end = reader.beginnings([partition])[partition], reader.ends([partition])[partition]
        at = end if before is None else min(before, end)
        least = max(begin, at - MOST_LOOKED_AT)
        found: list[AuditedChange] = []
        while at > least:
            start = max(least, at - STRIDE)
            for offset, change in reversed(_between(reader, partition, start, at)):
                at = offset
                if change is not None and wanted(change):
                    found.append(change)
                    if len(found) == limit:
                        return found, at if at > begin else None
            at = start
        return found, at if at > begin else None


def _between(
    reader: LogReader, partition: TopicPartition, start: int, end: int
) -> list[tuple[int, AuditedChange | None]]:
    reader.read_from({partition: start})
    read: list[tuple[int, AuditedChange | None]] = []
    deadline_s = time.monotonic() + LONGEST_READ_S
    with suppress(StoppedError):
        for records in reader.up_to({partition: end}, lambda: time.monotonic() > deadline_s):
            read += [(each.offset, _change_in(each.offset, each.value)) for each in records if each.offset < end]
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
