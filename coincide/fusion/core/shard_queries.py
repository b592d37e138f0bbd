"""ShardQueries: the queries in force, and what is held for each kind of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from msgspec import UnsetType

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.fusion.control.control import Control, InForce
from coincide.fusion.control.limits import Limits
from coincide.fusion.health.health_table import HealthTable
from coincide.fusion.kinds.join_kind import JoinKind
from coincide.fusion.kinds.query_turns import QueryTurns
from coincide.fusion.kinds.shard_kind import KindAnswers, ShardKind
from coincide.fusion.kinds.spell_kind import SpellKind
from coincide.fusion.kinds.window_kind import WindowKind
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.readings.sliding_queries import SlidingQueries
from coincide.fusion.readings.source import Choose
from coincide.fusion.rows.areas import Area
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.rows.query_retention import needed
from coincide.fusion.rows.row_codes import RowCodes
from coincide.fusion.spells.shard_spells import ShardSpells
from coincide.fusion.spells.spell_slots import SpellSlots
from coincide.queries import Kind
from coincide.wire.results.episode_record import EpisodeRecord
from coincide.wire.status_record import Coalescing


@dataclass(frozen=True, eq=False)
class ShardQueries:
    """Every kind has a row in `kinds`; in their order they answer, and their records come."""

    control: Control
    joins: JoinKind
    windows: WindowKind
    spells: SpellKind

    @classmethod
    def of(
        cls, codes: RowCodes, table: EventTable, health: HealthTable, limits: Limits, choose: Choose
    ) -> ShardQueries:
        """Return the queries of a shard, none of which is in force yet."""
        streams, areas = codes.streams, codes.areas
        control = Control(streams, limits)
        spells = ShardSpells(streams, areas, codes.templates, SpellSlots(limits.max_slot_bytes))
        return cls(
            control,
            JoinKind.of(control.of_kind("join"), codes, table, health, limits),
            WindowKind(control.of_kind("windows"), SlidingQueries(streams, areas, choose)),
            SpellKind(control.of_kind("spells"), spells),
        )

    @cached_property
    def kinds(self) -> dict[Kind, ShardKind]:
        """What is held for each kind."""
        return {"join": self.joins, "windows": self.windows, "spells": self.spells}

    def begin(self, new: EventColumns, kept: EventColumns) -> NoNumbers:
        """Begin a batch: take its new rows, which are among those that are kept."""
        return {each for kind in self.kinds.values() for each in kind.begin(new, kept)}

    def answers(self, turns: QueryTurns, accepted: AcceptedBatch, before: OnTime) -> KindAnswers:
        """Return what the batch has given, and what time has since it was as `before`."""
        of_kinds = [kind.answers(turns, accepted, before) for kind in self.kinds.values()]
        return KindAnswers(*([record for part in parts for record in part] for parts in zip(*of_kinds, strict=True)))

    def coalescing(self, active: InForce) -> Coalescing | UnsetType:
        """Return how a query's readings are coalesced; UNSET where there is no choice."""
        return self.kinds[active.query.kind].coalescing(active)

    def needed(self, rows: EventColumns, codes: RowCodes) -> BoolArray:
        """Which rows a query may still need, or an id that is remembered; suspended ones begin anew when lifted."""
        queries = [active for active in self.control.in_force() if not active.is_suspended]
        return needed(rows, codes.areas.watermark.state_us, codes.streams.kept, queries)

    def rebuild(self, kept: EventColumns) -> None:
        """Hold exactly these rows."""
        for kind in self.kinds.values():
            kind.rebuild(kept)

    def drop(self, gone: Int64Array, kept: EventColumns) -> None:
        """Drop the rows of these sequence numbers; those that are kept stay."""
        for kind in self.kinds.values():
            kind.drop(gone, kept)

    def recode(self, new_code: CodeArray, kept: EventColumns) -> None:
        """Follow new template codes by old code (-1: forgotten), which the rows have already."""
        for kind in self.kinds.values():
            kind.recode(new_code, kept)

    def settle(self, kept: EventColumns, evicted: EventColumns, idle: Sequence[Area]) -> list[EpisodeRecord]:
        """Forget what nothing needs, of idle areas and of evicted rows, too; return what that ends."""
        return [ended for kind in self.kinds.values() for ended in kind.settle(kept, evicted, idle)]
