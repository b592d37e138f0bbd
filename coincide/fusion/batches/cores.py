"""FusionCores: what the cores of all shards are made from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from coincide.fusion.control.host import UNKNOWING, Host
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.matching.search_work import NO_CLOCK, ClockS
from coincide.fusion.readings.sliding_queries import cheapest_by
from coincide.fusion.records.kafka_records import InputRecord, Output
from coincide.sliding.choice import TYPICAL, SlidingCosts
from coincide.stream import Stream


class Core(Protocol):
    """What a host needs of `FusionCore`."""

    def push(self, records: Sequence[InputRecord], host: Host = UNKNOWING) -> Output:
        """Take one batch, with what the host knows."""

    def header(self) -> bytes:
        """Return the small part of the state."""

    def journal(self) -> dict[int, bytes]:
        """Return the slots that the last push wrote."""

    def dropped_slots(self) -> list[int]:
        """Return the slots that the last push made needless."""

    def recall(self, health: Mapping[int, bytes]) -> None:
        """Take over what was told last of sensors, by the numbers that it was saved under."""


class CoreFactory(Protocol):
    """Makes cores; Spark pickles it once per query, so it holds settings and no state."""

    @property
    def costs(self) -> SlidingCosts:
        """The unit costs by which its cores choose how to coalesce readings."""

    def create(self, shard: int) -> Core:
        """Return the empty core of ``shard``."""

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> Core:
        """Return the core of ``shard`` that ``header`` and ``slots`` were written from."""


@dataclass(frozen=True)
class FusionCores:
    """Makes the `FusionCore` of every shard; ``clock_s`` tells the processor time of the thread that pushes."""

    streams: Mapping[str, Stream]
    limits: Limits
    costs: SlidingCosts = TYPICAL  # by which they choose how to coalesce readings; no answer depends on them
    clock_s: ClockS = NO_CLOCK

    def create(self, shard: int) -> FusionCore:
        """Return the empty core of ``shard``."""
        return FusionCore(self.streams, self.limits, shard, cheapest_by(self.costs), self.clock_s)

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> FusionCore:
        """Return the core of ``shard`` that ``header`` and ``slots`` were written from; StateError if unusable."""
        choose = cheapest_by(self.costs)
        return FusionCore.restore(self.streams, self.limits, shard, header, slots, choose, self.clock_s)
