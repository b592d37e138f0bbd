"""ShardKind: what a shard holds for the queries of one kind, and how it answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.fusion.kinds.query_turns import QueryTurns
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.rows.areas import Area
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.saving.slot_store import SlotStore
from coincide.wire.output_record import OutputRecord
from coincide.wire.results.episode_record import EpisodeRecord
from coincide.wire.status_record import Coalescing


class KindAnswers(NamedTuple):
    """What a batch has given, by query: matches, changes of what lasts, and evidence of matches."""

    matches: Sequence[OutputRecord] = ()
    lasting: Sequence[OutputRecord] = ()
    evidence: Sequence[OutputRecord] = ()


class ShardKind:
    """A kind answers batch by batch, and follows what becomes of the rows between them. This one holds nothing."""

    @property
    def slots(self) -> SlotStore | None:
        """Where it saves what cannot be made anew from the rows that are kept, if there is such a thing."""
        return None

    def begin(self, _new: EventColumns, _kept: EventColumns) -> NoNumbers:
        """Begin a batch: take its new rows, which are among those that are kept.

        Return which have a value that is no number where one was needed.
        """
        return set()

    def answers(self, _turns: QueryTurns, _accepted: AcceptedBatch, _before: OnTime) -> KindAnswers:
        """Return what the batch has given, and what time has since it was as `before`."""
        return KindAnswers()

    def coalescing(self, _active: Any) -> Coalescing | UnsetType:
        """Return how a query's readings are coalesced; UNSET where there is no choice."""
        return UNSET

    def rebuild(self, kept: EventColumns) -> None:
        """Hold exactly these rows."""

    def drop(self, gone: Int64Array, kept: EventColumns) -> None:
        """Drop the rows of these sequence numbers, if they are held one by one; those that are kept stay."""

    def recode(self, new_code: CodeArray, kept: EventColumns) -> None:
        """Follow new template codes by old code (-1: forgotten), which the rows have already."""

    def settle(self, _kept: EventColumns, _evicted: EventColumns, _idle: Sequence[Area]) -> list[EpisodeRecord]:
        """Forget what nothing needs, of idle areas and of evicted rows, too; return what that ends."""
        return []

    def restore(self, next_slot: int, slots: Sequence[bytes], kept: EventColumns) -> None:
        """Go on from its slots and the rows that are kept; the queries are in force already."""
