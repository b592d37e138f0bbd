"""ShardState: everything that the fusion core remembers of one shard."""

from __future__ import annotations

from dataclasses import dataclass, field

from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.area_rates import AreaRates
from coincide.fusion.core.shard_queries import ShardQueries
from coincide.fusion.core.sweeping import Sweeper
from coincide.fusion.health.health_table import HealthTable
from coincide.fusion.readings.source import Choose
from coincide.fusion.rows.held_rows import HeldRows
from coincide.fusion.rows.kept_rows import KeptRows
from coincide.fusion.rows.row_codes import RowCodes
from coincide.fusion.saving.area_slots import AreaSlots
from coincide.fusion.saving.journal import SlotWriter
from coincide.fusion.saving.row_slots import FIRST_HELD, RowSlots
from coincide.wire.status_record import Totals


@dataclass
class ShardState:
    """State of one shard, by what has to know it; no stage of a push is given all of it."""

    shard: int
    limits: Limits
    codes: RowCodes
    rows: KeptRows
    held: HeldRows
    queries: ShardQueries
    row_slots: RowSlots
    held_slots: RowSlots
    area_slots: AreaSlots
    health: HealthTable  # saved apart, see `FusionCore.recall`
    totals: Totals = field(default_factory=Totals)
    rates: AreaRates = field(default_factory=AreaRates)  # not saved

    @classmethod
    def of(cls, streams: KnownStreams, limits: Limits, shard: int, choose: Choose) -> ShardState:
        """Return the state before the first push; `choose` is that of `SlidingQueries`."""
        codes, health = RowCodes.of(streams, limits.max_template_buckets), HealthTable(len(streams))
        rows = KeptRows(limits, [0] * len(streams))
        writer = SlotWriter(codes.areas, codes.templates, codes.places, streams.names, limits.max_slot_bytes)
        return cls(
            shard=shard,
            limits=limits,
            codes=codes,
            rows=rows,
            held=HeldRows(streams, limits),
            queries=ShardQueries.of(codes, rows.table, health, limits, choose),
            row_slots=RowSlots(writer, limits),
            held_slots=RowSlots(writer, limits, FIRST_HELD),
            area_slots=AreaSlots(codes.areas, streams, limits),
            health=health,
        )

    @property
    def sweeper(self) -> Sweeper:
        """What drops rows, with their codes and what queries hold of them."""
        return Sweeper(self.rows, self.held, self.codes, self.queries)
