"""The stateful operator: Spark around one `LiveShard` per shard."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from coincide.fusion.batches.batch_parts import BatchParts
from coincide.fusion.batches.cores import CoreFactory
from coincide.fusion.batches.live_shard import DEFERRALS, HEADER, AddressedRecord, Entry, LiveShard
from coincide.fusion.control.host import Host
from coincide.fusion.records.kafka_records import InputRecord
from services.common.engine.carried_state import CarriedState
from services.common.engine.worker_deaths import WorkerDeaths
from spark_jobs.job.control_ahead import ControlAhead

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
        carried: Path | None = None,
    ) -> None:
        self._begin_parts = begin_parts
        self._carried = carried
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
        parts, records = self._begin_parts(after_flood=shard.after_flood), list(_records(rows))
        for step in shard.take(records, host, parts):
            self._save(step.state)
            if (header := step.state.get(HEADER)) is not None:
                _cached_shards[self._checkpoint_id, number] = (header, shard)
            yield self._written(step.records)

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
            return self._begun(number)
        header = bytes(stored[0])
        if cached and cached[0] == header:
            return cached[1]
        return self._restored(number, header)

    def _begun(self, number: int) -> LiveShard:
        """Return a shard that no batch was pushed to here: an empty one, or what a line in one process has left."""
        carried = None if self._carried is None else CarriedState.read(self._carried)
        if carried is None:
            return LiveShard(number, 0, self._cores.create(number))
        self._save(carried.entries)
        return LiveShard.restored(self._cores, number, carried.entries)

    def _restored(self, number: int, stored_header: bytes) -> LiveShard:
        entries = {(kind, position): bytes(content) for (kind, position), (content,) in self._state.iterator()}
        return LiveShard.restored(self._cores, number, {**entries, HEADER: stored_header})

    def _save(self, state: Mapping[Entry, bytes | None]) -> None:
        for entry, content in state.items():
            if content is None:
                self._state.removeKey(entry)
            else:
                self._state.updateValue(entry, (content,))

    def _written(self, records: Sequence[AddressedRecord]) -> pd.DataFrame:
        return pd.DataFrame([(self._topics[topic], *rest) for topic, *rest in records], columns=OUTPUT_COLUMNS)


def _records(chunks: Iterator[pd.DataFrame]) -> Iterator[InputRecord]:
    for chunk in chunks:
        kept = chunk[chunk["role"] != DEFERRALS]
        columns = (kept[name].tolist() for name in ("role", "partition", "offset", "key", "value"))
        yield from map(InputRecord._make, zip(*columns, strict=True))
