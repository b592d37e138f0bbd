"""The stateful operator: Spark around one `FusionCore` per shard."""

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Protocol

import pandas as pd
from msgspec import structs
from msgspec.json import decode, encode
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from coincide import Stream
from coincide.fusion.control.host import UNKNOWING, Host
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.readings.sliding_queries import cheapest_by
from coincide.fusion.records.kafka_records import InputRecord, KeptRecord, Output
from coincide.fusion.saving.state_format import reading
from coincide.sliding.choice import TYPICAL, SlidingCosts
from coincide.wire.output_record import OutputRecord
from coincide.wire.shard_records import DeferralRecord
from coincide.wire.status_record import StatusRecord
from spark_jobs.job.activations import PushedOffsets
from spark_jobs.job.backlog import Backlog
from spark_jobs.job.batch_parts import BatchParts, size_of
from spark_jobs.job.control_ahead import ControlAhead
from spark_jobs.recovery.worker_deaths import WorkerDeaths

INPUT_COLUMNS = ("shard_key", "role", "partition", "offset", "key", "value")
"""Columns of an input row: grouping key, role of the topic (detections, queries, deferrals), and the Kafka record."""

OUTPUT_SCHEMA = "topic string, key binary, value binary"
"""A record to be written, as Spark's Kafka sink takes it: `topic` is the full name."""

OUTPUT_COLUMNS = ["topic", "key", "value"]

STATE = "shard"
STATE_KEY = StructType([StructField("kind", StringType()), StructField("number", IntegerType())])
STATE_VALUE = StructType([StructField("content", BinaryType())])
"""All state of a shard is one map: every batch declares its state anew, which costs milliseconds a variable. These are
types and no text, which the Python worker would send to the Java process to be parsed, four times a batch."""

SLOT = "slot"
"""Kind of a slot of the core's journal."""

HEALTH = "health"
"""Kind of what was told last of the sensors of a part of an area."""

CHUNK = "chunk"
"""Kind of a chunk of the records that were left to a later batch."""

HEADER = ("header", 0)
"""Key of the core's header. Before it stand the 8 bytes of a number that every batch of a shard raises by one, and how
far the detections have been pushed."""

_VERSION_BYTES = 8

ACTIVATIONS = "activations"
"""Role of the topic that says before which detections each change of a query took effect."""

DEFERRALS = "deferrals"
"""Role of the topic that a batch writes to when it leaves records, so that Spark goes on at once."""


@dataclass(frozen=True)
class FusionCores:
    """What every shard's `FusionCore` is made from."""

    streams: Mapping[str, Stream]
    limits: Limits
    costs: SlidingCosts = TYPICAL  # by which they choose how to coalesce readings; no answer depends on them

    def create(self, shard: int) -> FusionCore:
        """Return the empty core of ``shard``."""
        return FusionCore(self.streams, self.limits, shard, cheapest_by(self.costs), time.thread_time)

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> FusionCore:
        """Return the core of ``shard`` that ``header`` and ``slots`` were written from; StateError if they disagree."""
        choose = cheapest_by(self.costs)
        return FusionCore.restore(self.streams, self.limits, shard, header, slots, choose, time.thread_time)


class Core(Protocol):
    """What the processor needs of `FusionCore`."""

    def push(self, records: Sequence[InputRecord], host: Host = UNKNOWING) -> Output:
        """Take one batch, with what the host knows."""

    def header(self) -> bytes:
        """Return the small part of the state."""

    def journal(self) -> dict[int, bytes]:
        """Return the slots that the last push wrote."""

    def dropped_slots(self) -> list[int]:
        """Return the slots that the last push made needless."""

    def recall(self, health: Mapping[int, bytes]) -> None:
        """Take over what was told last of sensors, by the numbers that it was saved under."""


class CoreFactory(Protocol):
    """Makes cores; pickled once per query, so it holds settings and no state."""

    @property
    def costs(self) -> SlidingCosts:
        """The unit costs by which its cores choose how to coalesce readings."""

    def create(self, shard: int) -> Core:
        """Return the empty core of ``shard``."""

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> Core:
        """Return the core of ``shard`` that ``header`` and ``slots`` were written from."""


@dataclass
class LiveShard:
    """A shard as it is after its batch number `version`: its core, the records left, and what its status told."""

    version: int
    core: Core
    backlog: Backlog
    pushed: PushedOffsets = field(default_factory=PushedOffsets)
    template_pairs: int = 0  # judged since the core was made or restored
    after_flood: bool = False  # see `BatchParts`


# Python workers outlive a batch, so the core stays in memory; Spark's state is the truth. A core is used again only
# if it is at exactly the version and header that the state store has, else it is rebuilt from the state. The bytes are
# those two, as they were written.
_cached_shards: dict[tuple[str, int], tuple[bytes, LiveShard]] = {}
_cached_ahead: dict[str, ControlAhead] = {}
_cached_deaths: dict[tuple[str, int], WorkerDeaths] = {}

BATCHES_UNTIL_THAW = 2_000
_batches = count(1)


def spare_the_cores_collection() -> None:
    """Leave all that lives out of the garbage collections to come; now and then let them look at all of it again.

    Python's daemon of pyspark collects garbage after every task. That would walk whatever the cores keep: half a second
    with 100,000 areas. It comes after a collection, so next to nothing but what is in use is left out.
    """
    if next(_batches) % BATCHES_UNTIL_THAW:
        gc.freeze()
    else:
        gc.unfreeze()


class FusionProcessor(StatefulProcessor):
    """Feeds each batch of a shard to its core, and keeps header, journal and backlog in Spark's state."""

    def __init__(
        self,
        cores: CoreFactory,
        checkpoint_id: str,
        shard_keys: Sequence[int],
        topics: Mapping[str, str],
        look_ahead: Callable[[], ControlAhead] | None = None,
        begin_parts: Callable[..., BatchParts] = BatchParts,
    ) -> None:
        self._begin_parts = begin_parts
        self._cores = cores
        self._checkpoint_id = checkpoint_id
        self._shard_of_key = {key: shard for shard, key in enumerate(shard_keys)}
        self._topics = dict(topics)
        self._look_ahead = look_ahead

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: the header, the journal's slots and the chunks of the backlog."""
        self._state = handle.getMapState(STATE, STATE_KEY, STATE_VALUE)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Push one batch, which comes in chunks of 10,000 rows in no order, part by part; leave what is too much."""
        spare_the_cores_collection()
        number = self._shard_of_key[key[0]]
        shard = self._load(number)
        host = self._host(number, shard.version)
        parts, answers = self._begin_parts(after_flood=shard.after_flood), pd.DataFrame(columns=OUTPUT_COLUMNS)
        statuses: list[OutputRecord] = []
        waiting = [*shard.backlog.records, *(record for chunk in rows for record in _records(chunk))]
        activations = [(self._topics[ACTIVATIONS], *each) for each in shard.pushed.records(number, waiting)]
        for part in parts.cut(waiting):
            if len(answers):
                yield answers
            output = shard.core.push(part, host)
            shard.pushed.took(part)
            self._save_slots(shard.core)
            self._save_health(output.health)
            judged_before, shard.template_pairs = shard.template_pairs, template_pairs_of(output.status)
            parts.took(part, len(output.matches) + len(output.episodes), shard.template_pairs - judged_before)
            answers, statuses = self._answers(output), [output.status]
        shard.after_flood = parts.after_flood
        self._save_backlog(shard.backlog, parts.left)
        self._save_header(number, shard)
        told = [*activations, *((self._topics["status"], *with_left(each, len(parts.left))) for each in statuses)]
        if parts.left:
            told.append((self._topics[DEFERRALS], *deferral_record(number, parts.left)))
        yield pd.concat([answers, pd.DataFrame(told, columns=OUTPUT_COLUMNS)], ignore_index=True)

    def close(self) -> None:
        """Nothing to close: Spark owns the state, and the core stays for the next batch."""

    def _host(self, number: int, version: int) -> Host:
        """Return what is known of the batch that follows this version of a shard."""
        name = (self._checkpoint_id, number)
        if name not in _cached_deaths:
            _cached_deaths[name] = WorkerDeaths(Path(gettempdir(), f"coincide-{self._checkpoint_id}-{number}"))
        deaths, ahead = _cached_deaths[name], self._ahead()
        host = Host(fatal=deaths.begin(version), at_work=deaths.at_work)
        return replace(host, stopped=ahead.stopped) if ahead else host

    def _ahead(self) -> ControlAhead | None:
        """Return what looks ahead in this process."""
        if self._look_ahead is None:
            return None
        if self._checkpoint_id not in _cached_ahead:
            _cached_ahead[self._checkpoint_id] = self._look_ahead()
        ahead = _cached_ahead[self._checkpoint_id]
        ahead.begin()
        return ahead

    def _load(self, number: int) -> LiveShard:
        cached = _cached_shards.pop((self._checkpoint_id, number), None)
        stored = self._state.getValue(HEADER)
        if stored is None:
            return LiveShard(0, self._cores.create(number), Backlog())
        header = bytes(stored[0])
        if cached and cached[0] == header:
            return cached[1]
        return self._restored(number, header)

    def _restored(self, number: int, stored_header: bytes) -> LiveShard:
        entries = {(kind, position): bytes(content) for (kind, position), (content,) in self._state.iterator()}
        return restored_shard(self._cores, number, {**entries, HEADER: stored_header})

    def _save_slots(self, core: Core) -> None:
        for number in core.dropped_slots():
            self._state.removeKey((SLOT, number))
        for number, content in core.journal().items():
            self._state.updateValue((SLOT, number), (content,))

    def _save_health(self, health: Mapping[int, KeptRecord]) -> None:
        for number, record in health.items():
            if record.value is None:
                self._state.removeKey((HEALTH, number))
            else:
                self._state.updateValue((HEALTH, number), (record.value,))

    def _save_backlog(self, backlog: Backlog, left: Sequence[InputRecord]) -> None:
        written, dropped = backlog.replace(left)
        for number in dropped:
            self._state.removeKey((CHUNK, number))
        for number, content in written.items():
            self._state.updateValue((CHUNK, number), (content,))

    def _save_header(self, number: int, shard: LiveShard) -> None:
        shard.version += 1
        header = shard.version.to_bytes(_VERSION_BYTES) + shard.pushed.encode() + shard.core.header()
        self._state.updateValue(HEADER, (header,))
        _cached_shards[self._checkpoint_id, number] = (header, shard)

    def _answers(self, output: Output) -> pd.DataFrame:
        """Return all records of a part but its status."""
        written = [
            *((self._topics["matches"], *record) for record in output.matches),
            *((self._topics["episodes"], *record) for record in output.episodes),
            *((self._topics["dead-letters"], *record) for record in output.dead_letters),
            *((self._topics["sensor-health"], *record) for record in output.health.values()),
        ]
        return pd.DataFrame(written, columns=OUTPUT_COLUMNS)


def restored_shard(cores: CoreFactory, number: int, entries: Mapping[tuple[str, int], bytes]) -> LiveShard:
    """Return the shard whose state these entries are, by kind and position; StateError if they are unusable."""
    kept: dict[str, dict[int, bytes]] = {SLOT: {}, CHUNK: {}, HEALTH: {}}
    for (kind, position), content in entries.items():
        kept.setdefault(kind, {})[position] = content
    stored = entries[HEADER]
    version = stored[:_VERSION_BYTES]
    with reading("the state"):
        pushed, header = PushedOffsets.split(stored[_VERSION_BYTES:])
        core = cores.restore(number, header, kept[SLOT].values())
        core.recall(kept[HEALTH])
        return LiveShard(int.from_bytes(version), core, Backlog(kept[CHUNK]), pushed)


def template_pairs_of(status: OutputRecord) -> int:
    """Return how many template pairs a core has judged so far, by its status."""
    return decode(status.value, type=StatusRecord).template_pairs.misses


def deferral_record(shard: int, left: Sequence[InputRecord]) -> OutputRecord:
    """Return the record that says how much a batch of a shard has left."""
    return DeferralRecord(shard=shard, records=len(left), bytes=size_of(left)).to_record()


def with_left(status: OutputRecord, records: int) -> OutputRecord:
    """Return a core's status that tells, too, how many records of detections wait in the shard's state."""
    if not records:
        return status
    told = decode(status.value, type=StatusRecord)
    return status._replace(value=encode(structs.replace(told, left=records)))


def _records(chunk: pd.DataFrame) -> Iterator[InputRecord]:
    chunk = chunk[chunk["role"] != DEFERRALS]
    columns = (chunk[name].tolist() for name in ("role", "partition", "offset", "key", "value"))
    return map(InputRecord._make, zip(*columns, strict=True))
