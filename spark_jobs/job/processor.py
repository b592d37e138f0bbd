"""The stateful operator: Spark around one `FusionCore` per shard."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from coincide import Stream
from spark_jobs.core.fusion_core import FusionCore
from spark_jobs.core.limits import Limits
from spark_jobs.job.batch_parts import BatchParts
from spark_jobs.records.kafka_records import InputRecord, Output

INPUT_COLUMNS = ("shard_key", "role", "partition", "offset", "key", "value")
"""Columns of an input row: grouping key, role of the topic ("detections" or "queries"), and the Kafka record."""

OUTPUT_SCHEMA = "topic string, key binary, value binary"
"""A record to be written, as Spark's Kafka sink takes it: `topic` is the full name."""

OUTPUT_COLUMNS = ["topic", "key", "value"]

HEADER_SCHEMA = "version bigint, header binary"
"""The core's header, and a number that every batch of a shard raises by one."""

SLOT_KEY_SCHEMA = "slot int"
SLOT_SCHEMA = "bytes binary"
"""One slot of the core's journal."""


@dataclass(frozen=True)
class FusionCores:
    """What every shard's `FusionCore` is made from."""

    streams: Mapping[str, Stream]
    limits: Limits

    def create(self, shard: int) -> FusionCore:
        """Return the empty core of ``shard``."""
        return FusionCore(self.streams, self.limits, shard)

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> FusionCore:
        """Return the core of ``shard`` that ``header`` and ``slots`` were written from; StateError if they disagree."""
        return FusionCore.restore(self.streams, self.limits, shard, header, slots)


class Core(Protocol):
    """What the processor needs of `FusionCore`."""

    def push(self, records: Sequence[InputRecord]) -> Output:
        """Take one batch."""

    def header(self) -> bytes:
        """Return the small part of the state."""

    def journal(self) -> dict[int, bytes]:
        """Return the slots that the last push wrote."""

    def dropped_slots(self) -> list[int]:
        """Return the slots that the last push made needless."""


class CoreFactory(Protocol):
    """Makes cores; pickled once per query, so it holds settings and no state."""

    def create(self, shard: int) -> Core:
        """Return the empty core of ``shard``."""

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> Core:
        """Return the core of ``shard`` that ``header`` and ``slots`` were written from."""


# Python workers outlive a batch, so the core stays in memory; Spark's state is the truth. A core is used again only
# if it is at exactly the version and header that the state store has, else it is rebuilt from the state.
_cached_cores: dict[tuple[str, int], tuple[int, bytes, Core]] = {}


class FusionProcessor(StatefulProcessor):
    """Feeds each batch of a shard to its core, and keeps the core's header and journal in Spark's state."""

    def __init__(
        self, cores: CoreFactory, checkpoint_id: str, shard_keys: Sequence[int], topics: Mapping[str, str]
    ) -> None:
        self._cores = cores
        self._checkpoint_id = checkpoint_id
        self._shard_of_key = {key: shard for shard, key in enumerate(shard_keys)}
        self._topics = dict(topics)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: one header and a ring of journal slots."""
        self._header = handle.getValueState("header", HEADER_SCHEMA)
        self._slots = handle.getMapState("slots", SLOT_KEY_SCHEMA, SLOT_SCHEMA)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Push one batch, which comes in chunks of 10,000 rows in no order, part by part."""
        shard = self._shard_of_key[key[0]]
        version, core = self._load(shard)
        parts, answers = BatchParts(), pd.DataFrame(columns=OUTPUT_COLUMNS)
        status: list[tuple[str, bytes | None, bytes]] = []
        for part in parts.cut(record for chunk in rows for record in _records(chunk)):
            if len(answers):
                yield answers
            output = core.push(part)
            self._save_slots(core)
            parts.gave(part, len(output.matches))
            answers, status = self._answers(output), [(self._topics["status"], *output.status)]
        self._save_header(shard, version + 1, core)
        yield pd.concat([answers, pd.DataFrame(status, columns=OUTPUT_COLUMNS)], ignore_index=True)

    def close(self) -> None:
        """Nothing to close: Spark owns the state, and the core stays for the next batch."""

    def _load(self, shard: int) -> tuple[int, Core]:
        cached = _cached_cores.pop((self._checkpoint_id, shard), None)
        stored = self._header.get()
        if stored is None:
            return 0, self._cores.create(shard)
        version, header = stored[0], bytes(stored[1])
        if cached and cached[:2] == (version, header):
            return version, cached[2]
        return version, self._cores.restore(shard, header, (bytes(slot[0]) for slot in self._slots.values()))

    def _save_slots(self, core: Core) -> None:
        for slot in core.dropped_slots():
            self._slots.removeKey((slot,))
        for slot, content in core.journal().items():
            self._slots.updateValue((slot,), (content,))

    def _save_header(self, shard: int, version: int, core: Core) -> None:
        header = core.header()
        self._header.update((version, header))
        _cached_cores[self._checkpoint_id, shard] = (version, header, core)

    def _answers(self, output: Output) -> pd.DataFrame:
        """Return all records of a part but its status."""
        written = [
            *((self._topics["matches"], *record) for record in output.matches),
            *((self._topics["episodes"], *record) for record in output.episodes),
            *((self._topics["dead-letters"], *record) for record in output.dead_letters),
        ]
        return pd.DataFrame(written, columns=OUTPUT_COLUMNS)


def _records(chunk: pd.DataFrame) -> Iterator[InputRecord]:
    columns = (chunk[name].tolist() for name in ("role", "partition", "offset", "key", "value"))
    return map(InputRecord._make, zip(*columns, strict=True))
