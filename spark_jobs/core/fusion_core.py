"""FusionCore: the fusion job without Spark: Kafka records in, Kafka records out, state as bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from coincide import Stream
from coincide.joins.watermark import BEFORE_ALL_US
from spark_jobs.core.limits import Limits
from spark_jobs.core.shard import ShardState
from spark_jobs.core.sweeping import forget_spare_templates, is_sweep_due, sweep
from spark_jobs.matching.emitting import matches
from spark_jobs.readings.answering import coalescing, window_answers
from spark_jobs.records.kafka_records import InputRecord, Output, OutputRecord
from spark_jobs.records.refusals import DeadLetter
from spark_jobs.records.status import QueryStatus, Status, TemplatePairs, WatermarkRange
from spark_jobs.rows.accepted import Arrived
from spark_jobs.rows.admission import Intake
from spark_jobs.rows.event_table import EventColumns
from spark_jobs.saving.header import Header
from spark_jobs.saving.journal import SlotWriter
from spark_jobs.saving.restoring import header_of, restored_state
from spark_jobs.saving.slot_merging import merge_sparse_slots


class FusionCore:
    """All queries over all areas of one shard; pure: no clock, no random numbers, no input or output.

    After each `push`, write `header()` and every slot of `journal()`, and delete `dropped_slots()`; `restore`
    from them gives a core whose every later answer is the same, bit for bit, but for the counts of template pairs.

    Parameters
    ----------
    streams : mapping of stream name to Stream
        The declared streams; rows and queries that name another are refused.
    limits : Limits
        Bounds on what is read and kept.
    shard : int
        Number of the shard, at least 0; it names the status record.
    """

    def __init__(self, streams: Mapping[str, Stream], limits: Limits, shard: int) -> None:
        self._adopt(ShardState.empty(streams, limits, shard))

    def _adopt(self, state: ShardState) -> None:
        self._state = state
        limit = state.limits.max_slot_bytes
        self._slots = SlotWriter(state.areas, state.templates, list(state.streams), limit)
        self._journal: dict[int, bytes] = {}
        self._dropped: list[int] = []

    def push(self, records: Sequence[InputRecord]) -> Output:
        """Take one batch, in any order; it is applied control records first, then by (partition, offset)."""
        ordered = sorted(records, key=lambda record: (record.partition, record.offset))
        letters = self._apply_control([record for record in ordered if record.topic == "queries"])
        before_us = self._state.areas.watermark.state_us
        intake = Intake(self._state)
        arrived = intake.take([record for record in ordered if record.topic == "detections"])
        found, episodes = self._answers(arrived)
        episodes += window_answers(self._state, arrived.rows, before_us)
        self._write_journal(arrived.rows)
        self._drop_needless()
        letters += intake.letters_in_order()
        return Output(self._status().to_record(), found, episodes, [letter.to_record() for letter in letters])

    def header(self) -> bytes:
        """Return the small part of the state: format version, counters, queries, watermarks, sequence numbers."""
        return header_of(self._state).encode()

    def journal(self) -> dict[int, bytes]:
        """Return the slots that the last push wrote, by slot number, each at most a few 10 KB.

        They hold the rows that it accepted, now and then the last rows of older slots, which are then dropped, and the
        episodes that it changed.
        """
        return self._journal | self._state.episodes.slots.written

    def dropped_slots(self) -> list[int]:
        """Return the slots, by number, that were needed before the last push and are not any more."""
        return self._dropped + self._state.episodes.slots.dropped

    def live_slots(self) -> frozenset[int]:
        """Return every slot number that `restore` still needs."""
        return frozenset(self._state.live_slots | self._state.episodes.slots.live)

    @classmethod
    def restore(
        cls, streams: Mapping[str, Stream], limits: Limits, shard: int, header: bytes, slots: Iterable[bytes]
    ) -> FusionCore:
        """Rebuild the core from its header and its live slots, in any order; slots no longer live are ignored.

        Raises
        ------
        StateError
            The header or a slot was written by a version that this one cannot read, a live slot is missing, or a
            query in force names a stream that is not declared any more.
        """
        core = cls.__new__(cls)
        core._adopt(restored_state(streams, limits, Header.decode(header, shard), slots))
        return core

    def _answers(self, arrived: Arrived) -> tuple[list[OutputRecord], list[OutputRecord]]:
        """Return the matches that the new rows complete, and the episodes that changed."""
        state, active = self._state, self._state.control.active
        state.finder.insert(arrived.rows, active.values())
        state.episodes.begin(active.values())
        found = matches(state, arrived)
        told = state.episodes.told()
        state.totals.episodes += len(told)
        for query, records in Counter(record.query for record in told).items():
            if query in active:
                active[query].episodes += records
        return found, [record.to_record() for record in told]

    def _apply_control(self, records: Sequence[InputRecord]) -> list[DeadLetter]:
        state = self._state
        letters = [state.control.apply(record, state.next_seq) for record in records]
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
            self._journal[state.next_slot] = self._slots.encode(state.next_slot, accepted, part)
            table.slot[first + part.start : first + part.stop] = state.next_slot
            state.live_slots.add(state.next_slot)
            state.next_slot += 1
        for stream in accepted.stream.tolist():
            state.buffered[stream] += 1

    def _drop_needless(self) -> None:
        """Sweep if it is due; slots that one push both writes and drops are never told of."""
        before = set(self._state.live_slots)
        if is_sweep_due(self._state):
            sweep(self._state)
            self._journal |= merge_sparse_slots(self._state, self._slots)
        forget_spare_templates(self._state)
        gone = before - self._state.live_slots
        self._dropped = sorted(gone - self._journal.keys())
        self._journal = {number: slot for number, slot in self._journal.items() if number not in gone}

    def _status(self) -> Status:
        state = self._state
        look_ups = state.finder.look_ups
        watermarks = [us for area in state.areas if (us := state.areas.watermark.us(area.code)) != BEFORE_ALL_US]
        return Status(
            shard=state.shard,
            queries={
                active.query.id: QueryStatus(
                    active.version, active.paused, active.matches, active.episodes, coalescing(state, active)
                )
                for active in state.control.in_force()
            },
            totals=state.totals,
            buffered=dict(zip(state.streams, state.buffered, strict=True)),
            template_pairs=TemplatePairs(look_ups.hits, look_ups.misses, look_ups.pairs),
            watermark_us=WatermarkRange(min(watermarks, default=None), max(watermarks, default=None)),
            control_offset=state.control.offset,
        )
