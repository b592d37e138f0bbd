"""FusionCore: the fusion job without Spark: Kafka records in, Kafka records out, state as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import UNSET

from coincide import Stream
from coincide.fusion.control.host import UNKNOWING, Host
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.admission import RowAdmission
from coincide.fusion.core.restoring import header_of, restored_state
from coincide.fusion.core.shard import ShardState
from coincide.fusion.core.stream_control import StreamDeclarations
from coincide.fusion.kinds.query_turns import QueryTurns
from coincide.fusion.kinds.shard_kind import KindAnswers
from coincide.fusion.matching.search_work import NO_CLOCK, ClockS
from coincide.fusion.readings.reading_columns import no_number_letters
from coincide.fusion.readings.sliding_queries import CHEAPEST
from coincide.fusion.readings.source import Choose
from coincide.fusion.records.kafka_records import InputRecord, KeptRecord, Output
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.saving.area_slots import AreaSlots
from coincide.fusion.saving.row_slots import RowSlots
from coincide.fusion.saving.slot_store import SlotStore
from coincide.fusion.saving.state_format import Header, reading
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.wire.declarations.stream_records import is_stream_key
from coincide.wire.output_record import OutputRecord
from coincide.wire.results.dead_letter import DeadLetter
from coincide.wire.status_record import (
    MOST_AREAS,
    DetectionLimits,
    PairCounts,
    QueryStatus,
    StatusRecord,
    WatermarkRange,
)


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
        self._state = ShardState.of(KnownStreams(streams), limits, shard, choose)
        self._clock_s = clock_s

    def push(self, records: Sequence[InputRecord], host: Host = UNKNOWING) -> Output:
        """Take one batch, in any order; it is applied control records first, then by (partition, offset).

        A query gives no answers that a newer version than the one in force stops, whose record will come: the host is
        asked for it before each query and while one is at work. One that is fatal is suspended.
        """
        state, ordered = self._state, sorted(records, key=lambda record: (record.partition, record.offset))
        before, declarations = state.codes.on_time(), StreamDeclarations(state.sweeper, state.health)
        letters = self._apply_control([record for record in ordered if record.topic == "queries"], declarations)
        first_held = state.held.next_seq
        turns = QueryTurns.begun(host, self._clock_s, state.limits, state.codes.areas)
        admission = RowAdmission(state.codes, state.rows, state.held, state.health, state.totals)
        accepted = admission.take([record for record in ordered if record.topic == "detections"])
        state.rates.note(accepted.backgrounds.of_minute, state.codes.areas, state.codes.streams.names)
        answers, refused = self._answer(accepted, turns, before)
        self._write_journal(accepted.rows)
        episodes = [*answers.lasting, *self._drop_needless(declarations.declared_anew)]
        self._write_held(first_held, declarations.declared_anew)
        state.area_slots.write()
        letters += [*admission.letters_in_order(), *refused]
        told = [letter.to_record() for letter in letters]
        of_matches = [*answers.matches], episodes, [*answers.evidence]
        return Output(self._status().to_record(), *of_matches, told, self._health())

    def recall(self, health: Mapping[int, bytes]) -> None:
        """Take over the values of `Output.health` that were saved last, by their numbers, before the first push."""
        self._state.health.recall(health)

    def header(self) -> bytes:
        """Return the small part of the state: format version, counters, queries, watermarks, sequence numbers."""
        return header_of(self._state).encode()

    def journal(self) -> dict[int, bytes]:
        """Return the slots that the last push wrote, by number: accepted rows, changed areas and episodes."""
        return {number: slot for slots in self._slots() for number, slot in slots.written.items()}

    def dropped_slots(self) -> list[int]:
        """Return the slots, by number, that were needed before the last push and are not any more."""
        return [number for slots in self._slots() for number in slots.dropped]

    def live_slots(self) -> frozenset[int]:
        """Return every slot number that `restore` still needs."""
        return frozenset(number for slots in self._slots() for number in slots.live)

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
            core._state = restored_state(streams, limits, Header.decode(header, shard), slots, choose)
        core._clock_s = clock_s
        return core

    def _apply_control(self, records: Sequence[InputRecord], declarations: StreamDeclarations) -> list[DeadLetter]:
        state, letters = self._state, list[DeadLetter | None]()
        for record in records:
            if is_stream_key(record.key):
                letters.append(declarations.take(record))
            else:
                letters.append(state.queries.control.apply(record, state.rows.next_seq))
        unusable = [letter for letter in letters if letter is not None]
        state.totals.malformed += len(unusable)
        return unusable

    def _answer(
        self, accepted: AcceptedBatch, turns: QueryTurns, before: OnTime
    ) -> tuple[KindAnswers, list[DeadLetter]]:
        """Return what all queries give, and letters about rows that some cannot use."""
        queries, totals = self._state.queries, self._state.totals
        no_numbers = queries.begin(accepted.rows, self._state.rows.columns)
        answers = queries.answers(turns, accepted, before)
        refused = list(no_number_letters(no_numbers, accepted.rows, self._state.codes))
        totals.matches += len(answers.matches)
        totals.episodes += len(answers.lasting)
        without_place = sum(letter.reason == "no_place" for letter in refused)
        totals.no_number += len(refused) - without_place
        totals.no_place += without_place
        return answers, refused

    def _write_journal(self, accepted: EventColumns) -> None:
        """Write the accepted rows, the last ones that are kept, into slots."""
        slot = self._state.rows.columns.slot
        self._state.row_slots.write(accepted, slot[len(slot) - len(accepted) :])

    def _write_held(self, first: int, is_declared_anew: bool) -> None:
        """Write the rows that are held since number `first` into slots, and drop the slots that have none any more."""
        held, slots = self._state.held, self._state.held_slots
        rows = held.columns
        is_new = rows.seq >= first
        slots.write(rows.where(is_new), rows.slot[len(rows) - np.count_nonzero(is_new) :])
        if slots.live:
            slots.follow_sweep(rows, held.is_anew or is_declared_anew)
        held.is_anew = False

    def _drop_needless(self, is_declared_anew: bool) -> list[OutputRecord]:
        """Sweep if it is due, and return what that ends."""
        state, ended, sweeper = self._state, list[OutputRecord](), self._state.sweeper
        if is_declared_anew or state.rows.is_sweep_due(len(state.codes.areas)):
            swept = sweeper.sweep()
            ended = swept.ended
            state.totals.evicted += swept.evicted
            if swept.freed_sensors:
                state.health.forget_codes()
            state.row_slots.follow_sweep(state.rows.columns, is_declared_anew)
        sweeper.forget_spare_codes()
        return ended

    def _slots(self) -> list[RowSlots | AreaSlots | SlotStore]:
        state = self._state
        of_kinds = [kind.slots for kind in state.queries.kinds.values()]
        evidence = state.queries.joins.evidence
        return [
            state.row_slots,
            state.held_slots,
            state.area_slots,
            evidence.slots,
            evidence.learnt,
            *(slots for slots in of_kinds if slots is not None),
        ]

    def _health(self) -> dict[int, KeptRecord]:
        """Return what is to be told of sensors, and make room for new ones."""
        state = self._state
        told = state.health.tell(max((clock.heard_us for clock in state.codes.areas.clocks.values()), default=0))
        if state.health.is_full:
            state.health.forget()
        return told

    def _buffered(self) -> dict[str, int]:
        """Return how many rows are kept, or held, of each stream that is declared."""
        state = self._state
        kept, held = state.rows.buffered_by_stream(state.codes.streams), state.held.waiting_by_stream().tolist()
        return {name: rows + held[state.codes.streams.codes[name]] for name, rows in kept.items()}

    def _status(self) -> StatusRecord:
        state = self._state
        look_ups, areas = state.queries.joins.finder.look_ups, state.codes.areas
        limits = state.limits
        reached_us = areas.watermark.state_us
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
                    state.queries.coalescing(active),
                    active.suspensions or UNSET,
                )
                for active in state.queries.control.in_force()
            },
            totals=state.totals,
            buffered=self._buffered(),
            busiest_hz=state.rates.busiest_hz,
            rates_hz=state.rates.told(areas),
            limits=DetectionLimits(limits.max_matches_per_detection, limits.max_candidates_per_detection),
            template_pairs=PairCounts(look_ups.hits, look_ups.misses, look_ups.pairs),
            watermark_us=WatermarkRange(*(int(us) for us in (reached_us.min(), reached_us.max())))
            if len(reached_us)
            else WatermarkRange(None, None),
            area_watermarks_us=areas.latest_watermarks_us(MOST_AREAS),
            control_offset=state.queries.control.offset,
        )
