"""The transport alone: Kafka -> stateful Spark -> Kafka with the fusion job's settings, and no join.

`latency` runs it as the fusion job is run, with a checkpoint of its own. Every frame comes out on the match topic as it
went in. Fusion cannot be faster than that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coincide.fusion.control.host import UNKNOWING, Host
from coincide.fusion.records.kafka_records import InputRecord, Output
from coincide.sliding.choice import TYPICAL, SlidingCosts
from coincide.wire.output_record import OutputRecord
from spark_jobs.fusion import main

_RING_SLOTS = 16


class TransportCore:
    """Sends every record on as it is, and keeps the batch's bytes in the state, a slot per batch, as fusion does."""

    def __init__(self, shard: int, batches: int = 0) -> None:
        self._shard = shard
        self._batches = batches
        self._slot = b""

    def push(self, records: Sequence[InputRecord], host: Host = UNKNOWING) -> Output:  # noqa: ARG002
        ordered = sorted(records, key=lambda record: (record.topic != "queries", record.partition, record.offset))
        self._batches += 1
        self._slot = b"".join(record.value or b"" for record in ordered)[:65_536]
        status = b'{"v":1,"shard":%d,"batches":%d}' % (self._shard, self._batches)
        matches = [OutputRecord(record.key or b"", record.value or b"") for record in ordered]
        return Output(status=OutputRecord(b"shard-%d" % self._shard, status), matches=matches)

    def header(self) -> bytes:
        return b"%d" % self._batches

    def journal(self) -> dict[int, bytes]:
        return {self._batches % _RING_SLOTS: self._slot}

    def dropped_slots(self) -> list[int]:
        return []

    def recall(self, health: Mapping[int, bytes]) -> None:
        assert not health


@dataclass(frozen=True)
class TransportCores:
    costs: SlidingCosts = TYPICAL  # nobody chooses by them

    def create(self, shard: int) -> TransportCore:
        return TransportCore(shard)

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> TransportCore:
        assert sum(1 for _ in slots) == min(int(header), _RING_SLOTS)
        return TransportCore(shard, int(header))


if __name__ == "__main__":
    sys.exit(main(cores_of=lambda *_: TransportCores()))
