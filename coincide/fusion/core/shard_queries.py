"""ShardQueries: the queries in force, and what is held for each kind of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.fusion.control.control import Control
from coincide.fusion.control.limits import Limits
from coincide.fusion.episodes.shard_episodes import Episodes
from coincide.fusion.health.health_table import HealthTable
from coincide.fusion.matching.shard_joins import ShardJoins
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.readings.sliding_queries import SlidingQueries
from coincide.fusion.readings.source import Choose
from coincide.fusion.rows.areas import Area
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.query_retention import needed
from coincide.fusion.rows.row_codes import RowCodes
from coincide.fusion.spells.shard_spells import ShardSpells
from coincide.fusion.spells.spell_slots import SpellSlots
from coincide.wire.episode_record import EpisodeRecord


class BegunBatch(NamedTuple):
    """What is known of a batch before it is answered."""

    no_numbers: NoNumbers
    ended: list[EpisodeRecord]  # spells of queries that do not go on


@dataclass(frozen=True, eq=False)
class ShardQueries:
    """Joins with their episodes, windows over readings and spells."""

    control: Control
    joins: ShardJoins
    episodes: Episodes
    sliding: SlidingQueries
    spells: ShardSpells

    @classmethod
    def of(
        cls, codes: RowCodes, table: EventTable, health: HealthTable, limits: Limits, choose: Choose
    ) -> ShardQueries:
        """Return the queries of a shard, none of which is in force yet."""
        streams, areas = codes.streams, codes.areas
        return cls(
            Control(streams, limits),
            ShardJoins.of(codes, table, health, limits),
            Episodes(streams, areas),
            SlidingQueries(streams, areas, choose),
            ShardSpells(streams, areas, codes.templates, SpellSlots(limits.max_slot_bytes)),
        )

    def begin(self, new: EventColumns, kept: EventColumns) -> BegunBatch:
        """Begin a batch: take its new rows, which are among those that are kept."""
        joins, sliding, spells = self.control.active.values(), self.control.sliding.values(), self.control.spells
        no_numbers = self.joins.insert(new, joins) | self.sliding.insert(new, kept, sliding)
        self.episodes.begin(joins)
        ended = self.spells.begin(spells.values())
        return BegunBatch(no_numbers | self.spells.insert(new), ended)

    def needed(self, rows: EventColumns, codes: RowCodes) -> BoolArray:
        """Which rows a query may still need, or an id that is remembered; suspended ones begin anew when lifted."""
        queries = [active for active in self.control.in_force() if not active.is_suspended]
        return needed(rows, codes.areas.watermark.state_us, codes.streams.kept, queries)

    def rebuild(self, rows: EventColumns) -> None:
        """Hold exactly these rows for joins and windows."""
        self.joins.finder.rebuild(rows, self.control.active.values())
        self.sliding.rebuild(rows, self.control.sliding.values())

    def drop(self, gone: Int64Array, kept: EventColumns) -> None:
        """Drop the rows of these sequence numbers from the search of joins; those that are kept stay."""
        self.joins.finder.drop(gone, kept, self.control.active.values())

    def recode(self, new_code: CodeArray, rows: EventColumns) -> None:
        """Follow new template codes by old code (-1: forgotten), which the rows have already."""
        self.joins.finder.recode(new_code, self.control.active)
        self.joins.finder.rebuild(rows, self.control.active.values())

    def settle(self, kept: EventColumns, evicted: EventColumns, idle: Sequence[Area]) -> list[EpisodeRecord]:
        """Forget readings that nothing needs, those of idle areas and of evicted rows; return what that ends."""
        if len(evicted) or idle:
            self.sliding.rebuild(kept, self.control.sliding.values())
        else:
            self.sliding.drop_before_windows(kept, self.control.sliding.values())
        ended = self.spells.forget(idle) if idle else []
        return ended + self.spells.settle(kept, evicted)
