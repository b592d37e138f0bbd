"""Halts: why fusion cannot go on alone, in one sentence that everybody may read, with the way out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, get_args

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from coincide.fusion.saving.state_format import unusable_state

Reason = Literal[
    "checkpoint_damaged", "checkpoint_lost", "checkpoint_unfit", "records_expired", "topic_missing", "topic_replaced"
]
REASONS: tuple[Reason, ...] = get_args(Reason)

WAYS_OUT: dict[Reason, str] = {
    "checkpoint_damaged": "put a whole one back, or rebuild",
    "checkpoint_lost": "put it back, or rebuild",
    "checkpoint_unfit": "go back to what it was made for, or rebuild",
    "records_expired": "rebuild",
    "topic_missing": "create the topics that are declared",
    "topic_replaced": "rebuild",
}

# Names that Spark gives to what is wrong with the files of its checkpoint, and words where it gives none.
_DAMAGE = re.compile(
    r"CANNOT_LOAD_STATE_STORE|CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED|CONCURRENT_STREAM_LOG_UPDATE"
    r"|INVALID_LOG_VERSION|MALFORMED_LOG_FILE|STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"
    r"|STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED|STDS_FAILED_TO_READ_STATE_SCHEMA"
    r"|STREAMING_CHECKPOINT_MISSING_METADATA_FILE|STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
    r"|Incomplete log file|ChecksumException|MetadataReader"
)

Places = Mapping[tuple[str, int], int]
"""Offsets by topic and partition."""


class Halt(Exception):  # noqa: N818 - it is a state that lasts, too
    """Why fusion cannot go on alone: one sentence without paths, and for the log what more is known."""

    def __init__(self, reason: Reason, problem: str, detail: str = "") -> None:
        super().__init__(f"{problem}: {WAYS_OUT[reason]}")
        self.reason = reason
        self.detail = detail


def halt_of(error: Exception) -> Halt | None:
    """Return the halt that an error is, or that Spark's report of a failed query is about; None if there is none."""
    if isinstance(error, Halt):
        return error
    if (unusable := unusable_state(error)) is not None:
        is_unfit, said = unusable
        return Halt("checkpoint_unfit", said) if is_unfit else damaged(said)
    if found := _DAMAGE.search(str(error)):
        what = "its state" if "STATE" in found[0] else "a file of it"
        return damaged(f"{what} cannot be read", _line_around(error, found))
    return None


def damaged(what: str, detail: str = "") -> Halt:
    """Return the halt of a checkpoint of which something is damaged or gone."""
    return Halt("checkpoint_damaged", f"the checkpoint is damaged ({what})", detail)


def _line_around(error: Exception, found: re.Match[str]) -> str:
    return next((line for line in str(error).splitlines() if found[0] in line), "")[:500]


def refuse_lost_records(processed: Mapping[str, Mapping[str, int]], begins: Places, ends: Places) -> None:
    """Raise a Halt where the topics do not hold what comes after `processed`, the offsets up to which was read.

    Both ends of every partition that must hold it are given, by topic and partition.
    """
    read = {
        (topic, int(partition)): offset
        for topic in {topic for topic, _ in ends}
        for partition, offset in processed.get(topic, {}).items()
    }
    for place, offset in read.items():
        if (end := ends.get(place, 0)) < offset:
            topic, partition = place
            how = f"{offset} records of its partition {partition} were read, and it has {end}"
            raise Halt("topic_replaced", f"the topic {topic} was replaced ({how})")
    expired = {place: range(offset, begins[place]) for place, offset in read.items() if begins[place] > offset}
    if expired:
        raise ExpiredHalt(expired)


class ExpiredHalt(Halt):
    """Kafka deleted records before fusion had read them: at these offsets, by topic and partition."""

    def __init__(self, expired: Mapping[tuple[str, int], range]) -> None:
        counted = [f"{len(each)} of {topic}, partition {number}" for (topic, number), each in sorted(expired.items())]
        count = sum(map(len, expired.values()))
        problem = f"Kafka deleted {count} records ({'; '.join(counted)}) before fusion had read them"
        super().__init__("records_expired", problem)
        self.expired = expired


class HaltMetrics(Collector):
    """Whether fusion is halted, by reason; `current` gives the halt or None."""

    def __init__(self, current: Callable[[], Halt | None]) -> None:
        self._current = current

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield a series for each reason, so that none is missing while all is well."""
        halt = self._current()
        halted = GaugeMetricFamily(
            "coincide_fusion_halted", "1 while fusion cannot go on alone, by reason, else 0.", labels=["reason"]
        )
        for reason in REASONS:
            halted.add_metric([reason], float(halt is not None and halt.reason == reason))
        yield halted
