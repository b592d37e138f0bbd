"""Makes the fusion cores inside Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coincide.stream import Stream
from spark_jobs.fusion_core import FusionCore
from spark_jobs.limits import Limits


@dataclass(frozen=True)
class FusionCores:
    """What every shard's `FusionCore` is made from."""

    streams: Mapping[str, Stream]
    limits: Limits

    def create(self, shard: int) -> FusionCore:
        """Return the empty core of ``shard``."""
        return FusionCore(self.streams, self.limits, shard)

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> FusionCore:
        """Return the core of ``shard`` that ``header`` and ``slots`` were written from; StateError if they disagree."""
        return FusionCore.restore(self.streams, self.limits, shard, header, slots)
