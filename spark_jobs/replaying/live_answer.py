"""The answer as the live job gave it: the fusion core over the frames of the topic, in the order of their offsets.

The order within a partition, and where in it each change of a query took effect, is all that an answer depends on. So
the records are those of the live job, id by id, if the replay begins where the topic begins, or so far back that
nothing before it was still needed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from msgspec import json

from coincide.queries import AnyQuery
from spark_jobs.core.fusion_core import FusionCore
from spark_jobs.records.kafka_records import InputRecord, Output
from spark_jobs.replaying.topic_records import Offsets, TopicRecords


@dataclass(frozen=True)
class QueryChangeAt:
    """A record of the queries topic, and the offsets of the detections before which it took effect."""

    record: InputRecord
    offsets: Offsets


def in_force_from(query: AnyQuery, offsets: Offsets) -> QueryChangeAt:
    """Return the change that lets a query be in force from these offsets on, as its first version."""
    content = {"v": 1, "id": query.id, "version": 1, "query": query.to_json()}
    return QueryChangeAt(InputRecord("queries", 0, 0, query.id.encode(), json.encode(content)), offsets)


def replayed(
    core: FusionCore,
    frames: TopicRecords,
    changes: Sequence[QueryChangeAt],
    starts: Offsets,
    ends: Offsets,
    check: Callable[[], None],
) -> Iterator[tuple[Output, int]]:
    """Yield what the core says of each chunk of frames, and how many records it had.

    The core has no clock, so that no query is suspended because this machine is slow.
    """
    at = dict(starts)
    for change in changes:
        until = {number: min(max(at[number], change.offsets.get(number, at[number])), ends[number]) for number in at}
        yield from _pushed(core, frames, at, until, check)
        yield core.push([change.record]), 0
        at = until
    yield from _pushed(core, frames, at, ends, check)


def _pushed(
    core: FusionCore, frames: TopicRecords, starts: Offsets, ends: Offsets, check: Callable[[], None]
) -> Iterator[tuple[Output, int]]:
    for chunk in frames.chunks(starts, ends, check):
        yield core.push([InputRecord("detections", *record) for record in chunk]), len(chunk)
