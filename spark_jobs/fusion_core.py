"""FusionCore: the fusion job without Spark: Kafka records in, Kafka records out, state as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coincide.stream import Stream
from spark_jobs.limits import Limits
from spark_jobs.records import InputRecord, Output


class FusionCore:
    """All queries over all areas of one shard; pure: no clock, no random numbers, no input or output.

    After each `push`, write `header()` and every slot of `journal()`, and delete `dropped_slots()`; `restore`
    from them gives a core whose every later answer is the same, bit for bit.

    Parameters
    ----------
    streams : mapping of stream name to Stream
        The declared streams; rows and queries that name another are refused.
    limits : Limits
        Bounds on what is read and kept.
    shard : int
        Number of the shard, at least 0; it names the status record.
    """

    def __init__(self, streams: Mapping[str, Stream], limits: Limits, shard: int) -> None:
        raise NotImplementedError

    def push(self, records: Sequence[InputRecord]) -> Output:
        """Take one batch, in any order; it is applied control records first, then by (partition, offset)."""
        raise NotImplementedError

    def header(self) -> bytes:
        """Return the small part of the state: format version, counters, queries, watermarks, sequence numbers."""
        raise NotImplementedError

    def journal(self) -> dict[int, bytes]:
        """Return the slots that the last push wrote, by slot number: its accepted rows, each at most a few 10 KB."""
        raise NotImplementedError

    def dropped_slots(self) -> list[int]:
        """Return the slots, by number, that were needed before the last push and are not any more."""
        raise NotImplementedError

    def live_slots(self) -> frozenset[int]:
        """Return every slot number that `restore` still needs."""
        raise NotImplementedError

    @classmethod
    def restore(
        cls, streams: Mapping[str, Stream], limits: Limits, shard: int, header: bytes, slots: Iterable[bytes]
    ) -> FusionCore:
        """Rebuild the core from its header and its live slots, in any order; slots no longer live are ignored.

        Raises
        ------
        StateError
            The header or a slot was written by a version that this one cannot read, or a live slot is missing.
        """
        raise NotImplementedError
