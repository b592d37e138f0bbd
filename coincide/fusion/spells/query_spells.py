"""The spells of one query: what was told of them, and what a batch changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.fusion.control.control import ActiveSpells
from coincide.fusion.episodes.episode_records import EpisodeRecordMember
from coincide.fusion.episodes.live_span import Entry, Phase
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.spells.held_readings import HeldReadings
from coincide.fusion.spells.live_spell import LiveSpell
from coincide.fusion.spells.spell_slots import SettledStretch, SpellReading
from coincide.spells import Spells

_OfGroup = dict[EpisodeRecordMember, LiveSpell]  # by first reading


@dataclass
class QuerySpells:
    """Spells of one query as long as it goes on, by group; the same whatever the batches were."""

    active: ActiveSpells
    held: HeldReadings
    _live: dict[int, _OfGroup] = field(default_factory=dict)
    _touched: dict[int, int] = field(default_factory=dict)  # groups with new readings: their newest revision

    def goes_on_with(self, active: ActiveSpells) -> bool:
        """Whether what is in force now adds to the same spells: the same query, or other limits."""
        if active is self.active:
            return True
        is_alike = self.active.query.keeps_activation(active.query)  # two changes may be of one activation
        return is_alike and active.activation_seq == self.active.activation_seq

    def insert(self, rows: EventColumns) -> list[int]:
        """Take the readings among new rows; return which rows have a value that is no number."""
        new = self.held.insert(rows, self.active.activation_seq, self.active.judged)
        self._touched |= new.revisions
        return new.no_number

    def changes(self, before: OnTime, now: OnTime) -> Iterator[Entry]:
        """Yield what has changed; it was as `before` when that was last asked."""
        touched, self._touched = self._touched, {}
        found = self._found(np.array(list(touched), np.int64), before, now) if touched else {}
        for group in found.keys() | (self._live.keys() & touched.keys()):
            yield from self._regrouped(group, touched[group], found.get(group, []))
        yield from self._moved_on(before, now)

    def rebuild(self, saved: Iterable[SettledStretch], kept: EventColumns, now: OnTime) -> None:
        """Go on from what was settled, and the rows that are kept; what was told follows from both."""
        self.held.restore(saved)
        self.held.insert(kept, self.active.activation_seq, self.active.judged)
        self._touched = {}
        self._live = self._all_live(now)

    def settle(self, now: OnTime, evicted_us: Int64Array) -> Iterator[Entry]:
        """Keep one row of each group for what nothing can change any more, and for all up to `evicted_us`.

        That is by area code. Yield as final what is not known any more because it had to go.
        """
        on_time_us = now.since_us(self.held.stream)
        self.held.settle(np.maximum(on_time_us, evicted_us + 1), on_time_us)
        if (evicted_us < on_time_us).all():
            return
        known, self._live = self._live, self._all_live(now)
        for group, spells in known.items():
            for first, spell in spells.items():
                if first not in self._live.get(group, {}):
                    yield spell.ended().revised(self.active.version)

    def ended(self) -> Iterator[Entry]:
        """Yield every spell as final, and keep none."""
        for group in list(self._live):
            yield from self._ended(group)

    def forget(self, areas: Sequence[int]) -> Iterator[Entry]:
        """Yield the spells of these areas as final, and drop what came from there."""
        groups = np.array(list(self._live), np.int64)
        for group in groups[np.isin(self.held.areas_of(groups), areas)].tolist():
            yield from self._ended(group)
        self.held.forget(areas)

    def _ended(self, group: int) -> Iterator[Entry]:
        for spell in self._live.pop(group).values():
            yield spell.ended().revised(self.active.version)

    def _found(self, groups: Int64Array, before: OnTime, now: OnTime) -> dict[int, list[LiveSpell]]:
        """Return the spells of some groups as they are now that were not final before."""
        held, rule, areas = self.held, self.active.query.rule, len(now.watermark_us)
        on_time_us = now.since_us(held.stream)
        concerned = held.stretches.of_groups(groups)
        spells = concerned.runs(rule, held.templates)
        over_us = np.where(spells.is_ended, spells.end_us, spells.runs.last_us + rule.run.hold_us)
        final_us = before.since_us(held.stream, areas)[held.areas_of(spells.runs.group)]
        found: dict[int, list[LiveSpell]] = {}
        for at in np.flatnonzero(spells.counts(rule) & (over_us >= final_us)).tolist():
            spell = self._spell(spells, at, int(over_us[at])).at(now.watermark_us, on_time_us)
            found.setdefault(int(spells.runs.group[at]), []).append(spell)
        return found

    def _spell(self, spells: Spells, at: int, over_us: int) -> LiveSpell:
        runs, stream = spells.runs, self.active.query.stream
        key, label, area = self.held.group(int(runs.group[at]))
        return LiveSpell(
            group=key,
            area=area,
            label=label,
            first=_member(runs.first[at], int(runs.first_detected_us[at]), stream),
            last=_member(runs.last[at], int(runs.last_detected_us[at]), stream),
            start_us=int(runs.first_us[at]),
            end_us=int(spells.end_us[at]),
            is_ended=bool(spells.is_ended[at]),
            over_us=over_us,
            count=int(runs.count[at]),
            revision=int(runs.revision[at]),
            received_at_us=int(runs.received_at_us[at]),
            probability=float(runs.probability[at]),
            value=self.held.value(runs.first_value[at]),
        )

    def _all_live(self, now: OnTime) -> dict[int, _OfGroup]:
        found = self._found(np.unique(self.held.stretches.group), now, now)
        return {group: _by_first(spells) for group, spells in found.items()}

    def _regrouped(self, group: int, revision: int, now: Sequence[LiveSpell]) -> Iterator[Entry]:
        """Tell what new readings have changed in a group, whose spells are known before: nobody may ask for all."""
        known, version = self._live.pop(group, {}), self.active.version
        if left := _by_first(now):
            self._live[group] = left
        firsts = {spell.first for spell in now}
        for first, spell in known.items():
            if first not in firsts:
                yield spell.retracted(version, revision, spell.overlapping(now))
        for spell in now:
            if spell.first not in known or known[spell.first].told != spell.told:
                yield spell.revised(version)

    def _moved_on(self, before: OnTime, now: OnTime) -> Iterator[Entry]:
        """Tell of the spells that time has gone past since it was as `before`, and let go of those that are final."""
        on_time_us, areas = now.since_us(self.held.stream), now.moved_since(before, self.held.stream)
        for group, spells in list(self._live.items()) if areas else ():
            if not any(spell.area in areas for spell in spells.values()):
                continue
            moved = [spell.at(now.watermark_us, on_time_us) for spell in spells.values()]
            changed = [spell for spell in moved if spell is not spells[spell.first]]
            if not changed:
                continue
            self._live[group] = _by_first(moved)
            if not self._live[group]:
                del self._live[group]
            yield from (spell.revised(self.active.version) for spell in changed)


def _member(reading: SpellReading, detected_at_us: int, stream: str) -> EpisodeRecordMember:
    return EpisodeRecordMember(detected_at_us, reading.sensor, reading.id, stream, reading.payload)


def _by_first(spells: Iterable[LiveSpell]) -> _OfGroup:
    """Return the spells of one group that are not final."""
    return {spell.first: spell for spell in spells if spell.phase is not Phase.FINAL}
