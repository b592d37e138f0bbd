"""FusionCore: the fusion job without Spark: Kafka records in, Kafka records out, state as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import UNSET

from coincide import Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.admission import RowAdmission
from coincide.fusion.core.answer_records import coalescing, matches_and_episodes, spell_changes, window_answers
from coincide.fusion.core.host import UNKNOWING, Host
from coincide.fusion.core.no_numbers import no_number_letters
from coincide.fusion.core.restoring import header_of, restored_state
from coincide.fusion.core.shard import ShardState
from coincide.fusion.core.stream_changes import change_stream
from coincide.fusion.core.sweeping import forget_spare_templates, is_sweep_due, merge_sparse_slots, sweep, write_anew
from coincide.fusion.matching.search_work import NO_CLOCK, ClockS
from coincide.fusion.readings.sliding_queries import CHEAPEST
from coincide.fusion.readings.source import Choose
from coincide.fusion.records.kafka_records import InputRecord, KeptRecord, Output
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.saving.journal import SlotWriter
from coincide.fusion.saving.state_format import Header, reading
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.wire.dead_letter import DeadLetter
from coincide.wire.output_record import OutputRecord
from coincide.wire.status_record import (
    MOST_AREAS,
    DetectionLimits,
    PairCounts,
    QueryStatus,
    StatusRecord,
    WatermarkRange,
)
from coincide.wire.stream_records import is_stream_key


class FusionCore:
    """All queries over all areas of one shard; pure: no random numbers, no input or output, no clock but the given one.

    After each `push`, write `header()` and every slot of `journal()`, and delete `dropped_slots()`; `restore` from
    them gives a core whose every later answer is the same, bit for bit, but for the counts of template pairs and for
    `Output.health`, which `recall` takes. Rows and queries that name a stream which is not declared are refused;
    records of the queries topic change what `streams` declares. The number of the `shard` names the status record.
    `choose` chooses how the readings of each rule are coalesced; any choice gives the same answers. `clock_s` guards
    every query by `max_query_s`: as long as none takes that long, it changes nothing.
    """

    def __init__(
        self,
        streams: Mapping[str, Stream],
        limits: Limits,
        shard: int,
        choose: Choose = CHEAPEST,
        clock_s: ClockS = NO_CLOCK,
    ) -> None:
        self._adopt(ShardState.empty(streams, limits, shard, choose), clock_s)

    def _adopt(self, state: ShardState, clock_s: ClockS) -> None:
        self._state = state
        state.clock_s = clock_s
        limit = state.limits.max_slot_bytes
        self._slots = SlotWriter(state.areas, state.templates, state.streams.names, limit)
        self._journal: dict[int, bytes] = {}
        self._dropped: list[int] = []

    def push(self, records: Sequence[InputRecord], host: Host = UNKNOWING) -> Output:
        """Take one batch, in any order; it is applied control records first, then by (partition, offset).

        A query gives no answers that a newer version than the one in force stops, whose record will come: the host is
        asked for it before each query and while one is at work. One that is fatal is suspended.
        """
        ordered = sorted(records, key=lambda record: (record.partition, record.offset))
        before, slots = OnTime.now(self._state.areas, self._state.streams), set(self._state.live_slots)
        letters = self._apply_control([record for record in ordered if record.topic == "queries"])
        self._state.begin_push(host)
        self._state.member_errors.begin()
        admission = RowAdmission(self._state)
        accepted = admission.take([record for record in ordered if record.topic == "detections"])
        self._state.rates.note(accepted.backgrounds.of_minute, self._state.areas, self._state.streams.names)
        matches, episodes = matches_and_episodes(self._state, accepted)
        episodes += window_answers(self._state, accepted.rows, before)
        episodes += spell_changes(self._state, accepted.rows, before)
        refused = list(no_number_letters(self._state, accepted.rows))
        self._write_journal(accepted.rows)
        episodes += self._drop_needless(slots)
        self._state.area_slots.write()
        letters += [*admission.letters_in_order(), *refused]
        told = [letter.to_record() for letter in letters]
        return Output(self._status().to_record(), matches, episodes, told, self._health())

    def recall(self, health: Mapping[int, bytes]) -> None:
        """Take over the values of `Output.health` that were saved last, by their numbers, before the first push."""
        self._state.health.recall(health)

    def header(self) -> bytes:
        """Return the small part of the state: format version, counters, queries, watermarks, sequence numbers."""
        return header_of(self._state).encode()

    def journal(self) -> dict[int, bytes]:
        """Return the slots that the last push wrote, by number: accepted rows, changed areas and episodes."""
        state = self._state
        return self._journal | state.episodes.slots.written | state.area_slots.written | state.spells.slots.written

    def dropped_slots(self) -> list[int]:
        """Return the slots, by number, that were needed before the last push and are not any more."""
        state = self._state
        return self._dropped + state.episodes.slots.dropped + state.area_slots.dropped + state.spells.slots.dropped

    def live_slots(self) -> frozenset[int]:
        """Return every slot number that `restore` still needs."""
        state = self._state
        own = state.live_slots.keys() | state.area_slots.live
        return frozenset(own | state.episodes.slots.live | state.spells.slots.live)

    @classmethod
    def restore(
        cls,
        streams: Mapping[str, Stream],
        limits: Limits,
        shard: int,
        header: bytes,
        slots: Iterable[bytes],
        choose: Choose = CHEAPEST,
        clock_s: ClockS = NO_CLOCK,
    ) -> FusionCore:
        """Rebuild the core from its header and live slots, in any order; StateError if they are unusable."""
        core = cls.__new__(cls)
        with reading("the state"):
            core._adopt(restored_state(streams, limits, Header.decode(header, shard), slots, choose), clock_s)
        return core

    def _apply_control(self, records: Sequence[InputRecord]) -> list[DeadLetter]:
        state, letters = self._state, list[DeadLetter | None]()
        state.declared_anew = False
        for record in records:
            if is_stream_key(record.key):
                letters.append(change_stream(state, record))
            else:
                letters.append(state.control.apply(record, state.next_seq))
        unusable = [letter for letter in letters if letter is not None]
        state.totals.malformed += len(unusable)
        return unusable

    def _write_journal(self, accepted: EventColumns) -> None:
        """Write the accepted rows into slots and note in the table, whose last rows they are, which slot has which."""
        state = self._state
        self._journal = {}
        table = state.table.columns
        first = len(table) - len(accepted)
        for part in self._slots.split(accepted):
            content = self._journal[state.next_slot] = self._slots.encode(state.next_slot, accepted, part)
            table.slot[first + part.start : first + part.stop] = state.next_slot
            state.live_slots[state.next_slot] = len(content) / (part.stop - part.start)
            state.next_slot += 1
        came = np.bincount(accepted.stream, minlength=len(state.buffered)).tolist()
        state.buffered = [before + more for before, more in zip(state.buffered, came, strict=True)]

    def _drop_needless(self, before: set[int]) -> list[OutputRecord]:
        """Sweep if it is due, and return what that ends; a slot that one push both writes and drops never leaves it.

        `before` are the slots that were live before the push.
        """
        ended = []
        if is_sweep_due(self._state) or self._state.declared_anew:
            ended = sweep(self._state)
            moved = write_anew if self._state.declared_anew else merge_sparse_slots
            self._journal |= moved(self._state, self._slots)
        forget_spare_templates(self._state)
        gone = (before | self._journal.keys()) - self._state.live_slots.keys()
        self._dropped = sorted(gone - self._journal.keys())
        self._journal = {number: slot for number, slot in self._journal.items() if number not in gone}
        return ended

    def _health(self) -> dict[int, KeptRecord]:
        """Return what is to be told of sensors, and make room for new ones."""
        state = self._state
        told = state.health.tell(max((clock.heard_us for clock in state.areas.clocks.values()), default=0))
        if state.health.is_full:
            state.health.forget()
        return told

    def _status(self) -> StatusRecord:
        state = self._state
        look_ups = state.finder.look_ups
        reached_us = state.areas.watermark.state_us
        reached_us = reached_us[reached_us != BEFORE_ALL_US]
        return StatusRecord(
            shard=state.shard,
            queries={
                active.query.id: QueryStatus(
                    active.version,
                    active.paused,
                    active.matches,
                    active.episodes,
                    active.work,
                    coalescing(state, active),
                    active.suspensions or UNSET,
                )
                for active in state.control.in_force()
            },
            totals=state.totals,
            buffered=state.buffered_by_stream(),
            busiest_hz=state.rates.busiest_hz,
            rates_hz=state.rates.told(state.areas),
            limits=DetectionLimits(state.limits.max_matches_per_detection, state.limits.max_candidates_per_detection),
            template_pairs=PairCounts(look_ups.hits, look_ups.misses, look_ups.pairs),
            watermark_us=WatermarkRange(*(int(us) for us in (reached_us.min(), reached_us.max())))
            if len(reached_us)
            else WatermarkRange(None, None),
            area_watermarks_us=dict(
                sorted((area.name, state.areas.watermark.us(area.code)) for area in state.areas.latest(MOST_AREAS))
            ),
            control_offset=state.control.offset,
        )
