"""Catching up: where many records wait, micro-batches take on as many of them as memory allows.

A micro-batch has a fixed cost, whatever is in it. With small frames, 2,000 records a batch are little work, and most of
a rebuild would be that cost. Batches that large would let an answer wait for seconds, so they end with the last of the
records that waited when they began. No answer depends on how records are spread over batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from coincide.fusion.batches.batch_parts import BatchParts
from services.common.engine.fusion_settings import FusionSettings
from spark_jobs.job.batch_metrics import Offsets, next_offset
from spark_jobs.job.status_follower import KafkaReader

MANY_BATCHES = 2
"""So many usual batches of records are worth a start of their own, which takes about a second."""

BATCH_BYTES = 67_108_864  # of records; the Python worker has them several times
PLACES = 3  # at which a partition is looked at, for how large its records are

PartsInBulk = partial(BatchParts, most_part_bytes=4_194_304, most_part_us=500_000.0, most_us=4_000_000.0)
"""Fewer and larger pushes; still a tenth of what one query may take in one of them."""


def records_in_bulk(settings: FusionSettings, processed: Offsets) -> int | None:
    """Return how many detection records one micro-batch takes while the job catches up; None where few wait.

    `processed` are the offsets up to which the checkpoint has read. Raises KafkaError.
    """
    topic = settings.topic("detections")
    with KafkaReader(settings) as reader:
        ends = reader.end_offsets([topic])
        begins = reader.first_offsets([topic])
        firsts = {place: max(begin, next_offset(processed, place, begin)) for place, begin in begins.items()}
        waiting = sum(max(0, ends[place] - first) for place, first in firsts.items())
        if waiting <= MANY_BATCHES * settings.max_offsets_per_trigger:
            return None
        return max(settings.max_offsets_per_trigger, int(BATCH_BYTES / _record_bytes(reader, firsts, ends)))


def _record_bytes(
    reader: KafkaReader, firsts: Mapping[tuple[str, int], int], ends: Mapping[tuple[str, int], int]
) -> float:
    """Return how large a record is, in the mean at the place that has the largest ones."""
    means = [1.0]
    for nth in range(PLACES):
        at = {
            place: first + (ends[place] - first) * nth // PLACES
            for place, first in firsts.items()
            if ends[place] > first
        }
        sizes = reader.sizes_at(at)
        means.append(sum(sizes) / max(len(sizes), 1))
    return max(means)
