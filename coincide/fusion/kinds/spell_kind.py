"""SpellKind: the queries of a shard that tell each spell of readings, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from coincide.fusion.control.control import ActiveSpells
from coincide.fusion.kinds.query_turns import QueryTurns
from coincide.fusion.kinds.shard_kind import KindAnswers, ShardKind
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.rows.areas import Area
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.spells.shard_spells import ShardSpells
from coincide.fusion.spells.spell_slots import SpellSlot, SpellSlots
from coincide.wire.results.episode_record import EpisodeRecord


@dataclass(eq=False)
class SpellKind(ShardKind):
    """Spells hold readings of their own, and save what is settled of those whose rows are dropped."""

    queries: Mapping[str, ActiveSpells]
    spells: ShardSpells
    _ended: list[EpisodeRecord] = field(default_factory=list)  # of queries that do not go on

    @property
    def slots(self) -> SpellSlots:
        """Those of settled readings."""
        return self.spells.slots

    def begin(self, new: EventColumns, _kept: EventColumns) -> NoNumbers:
        """Take the new rows of a batch; spells of queries that do not go on are final."""
        self._ended = self.spells.begin(self.queries.values())
        return self.spells.insert(new)

    def answers(self, turns: QueryTurns, _accepted: AcceptedBatch, before: OnTime) -> KindAnswers:
        """Return what the batch's rows, and time since it was as `before`, have changed of spells."""
        records = [change.to_record() for change in self._ended]
        for active in self.queries.values():
            changes = turns.in_time(active, partial(self.spells.changes, active.query.id, before))
            if turns.is_at_work(active):
                records += [change.to_record() for change in changes]
                active.episodes += len(changes)
        return KindAnswers(lasting=records)

    def settle(self, kept: EventColumns, evicted: EventColumns, idle: Sequence[Area]) -> list[EpisodeRecord]:
        """Keep one row for what nothing can change any more, and forget idle areas; return what that ends."""
        ended = self.spells.forget(idle) if idle else []
        return ended + self.spells.settle(kept, evicted)

    def restore(self, next_slot: int, slots: Sequence[bytes], kept: EventColumns) -> None:
        """Go on from what was settled and the rows that are kept."""
        self.slots.next = next_slot
        self.spells.restore(self.queries.values(), [SpellSlot.decode(slot) for slot in slots], kept)
