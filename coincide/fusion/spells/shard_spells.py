"""ShardSpells: the spells of all queries of a shard, and how each batch changes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from coincide.fusion.control.control import ActiveSpells
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.episodes.live_span import Entry, in_order, taken_out
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.rows.areas import Area, Areas
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.spells.held_readings import HeldReadings
from coincide.fusion.spells.query_spells import QuerySpells
from coincide.fusion.spells.spell_slots import SpellSlot, SpellSlots
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.joins.search.work import checked
from coincide.wire.results.episode_record import EpisodeRecord

ENTRIES_AT_ONCE = 1_024


class ShardSpells:
    """Spells by query; pure: nothing here reads a clock, and batches change nothing."""

    def __init__(self, streams: KnownStreams, areas: Areas, templates: VerifiedTemplates, slots: SpellSlots) -> None:
        self._streams = streams
        self._areas = areas
        self._templates = templates
        self.slots = slots
        self._by_query: dict[str, QuerySpells] = {}

    def begin(self, queries: Collection[ActiveSpells]) -> list[EpisodeRecord]:
        """Begin a batch with the queries in force; return the spells of those that do not go on, which are final.

        Those of a query that is paused or suspended do not.
        """
        self.slots.begin()
        wanted = {active.query.id: active for active in queries if not (active.paused or active.is_suspended)}
        entries: list[Entry] = []
        for id_, over in taken_out(self._by_query, wanted).items():
            entries += over.ended()
            self.slots.write(id_, [])
        for id_, active in wanted.items():
            if id_ not in self._by_query:
                self._by_query[id_] = self._begun(active)
            self._by_query[id_].active = active
        return in_order(entries)

    def insert(self, new: EventColumns) -> NoNumbers:
        """Take the new rows of a batch; return which have a value that is no number where one was needed."""
        refused: NoNumbers = set()
        for each in self._by_query.values():
            refused.update((seq, each.active.query.value) for seq in new.seq[each.insert(new)].tolist())
        return refused

    def changes(self, id_: str, before: OnTime, check: Callable[[], None]) -> list[EpisodeRecord]:
        """Return what has changed of a query's spells since it was as `before`, by group and start.

        `check` is called between blocks of work.
        """
        known = self._by_query.get(id_)
        return [] if known is None else in_order(checked(known.changes(before, self._now()), ENTRIES_AT_ONCE, check))

    def settle(self, kept: EventColumns, evicted: EventColumns) -> list[EpisodeRecord]:
        """Keep one row for the readings that nothing can change any more, and for those that have to go.

        Return as final what is not known any more because of these.
        """
        now, entries = self._now(), list[Entry]()
        for id_, known in self._by_query.items():
            evicted_us = np.full(len(now.watermark_us), BEFORE_ALL_US)
            gone = evicted.stream == known.held.stream
            np.maximum.at(evicted_us, evicted.area[gone], evicted.latest_us[gone])
            entries += known.settle(now, evicted_us)
            self.slots.write(id_, known.held.saved())
            known.active.forget_limits(int(kept.seq[0]) if len(kept) else None)
            if known.held.has_spare_codes:
                known.rebuild(known.held.saved(), kept, now)
        return in_order(entries)

    def forget(self, areas: Sequence[Area]) -> list[EpisodeRecord]:
        """Drop what came from areas that are to be forgotten; return their spells as final."""
        codes = [area.code for area in areas]
        entries = [entry for known in self._by_query.values() for entry in known.forget(codes)]
        for id_, known in self._by_query.items():
            self.slots.write(id_, known.held.saved())
        return in_order(entries)

    def restore(self, queries: Collection[ActiveSpells], slots: Sequence[SpellSlot], kept: EventColumns) -> None:
        """Go on from the slots and the rows that are kept, where these queries were in force."""
        self.slots.restore(slots)
        self.begin(queries)
        for id_, known in self._by_query.items():
            known.rebuild(self.slots.settled(id_), kept, self._now())

    def _begun(self, active: ActiveSpells) -> QuerySpells:
        stream = self._streams.codes[active.query.stream]
        return QuerySpells(active, HeldReadings(active.query, stream, self._areas, self._templates))

    def _now(self) -> OnTime:
        return OnTime.now(self._areas, self._streams)
