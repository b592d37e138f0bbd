"""FusionThread: the engine over a log of this machine, as a follower of detections and queries.

What a batch means, the state that it leaves and how far it read are one append: all of it is in the log, or nothing.
So a process that is killed loses nothing and tells nothing twice, with no more than that.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from coincide.fusion.batches.batch_parts import BatchParts
from coincide.fusion.batches.cores import CoreFactory
from coincide.fusion.batches.live_shard import DEFERRALS, AddressedRecord, Entry, LiveShard
from coincide.fusion.control.host import Host
from coincide.fusion.records.kafka_records import InputRecord, Topic
from coincide.fusion.saving.state_format import StateError
from services.common.engine.core_metrics import StatusMetrics
from services.common.engine.shard_state import SHARD_STATE, entry_of, positions_in, read_state, records_of
from services.common.engine.worker_deaths import WorkerDeaths
from services.common.log.faults import DamagedLogError, LogError, OffsetGoneError
from services.common.log.follower_thread import FollowerThread
from services.common.log.log import Log
from services.common.log.reader import LogReader
from services.common.log.records import NewRecord, Record, TopicPartition
from services.common.topics.topic_names import TopicNames
from services.line.changes_ahead import ChangesAhead
from services.line.other_shards import retire_other_shards

DETECTIONS: Topic = "detections"
QUERIES: Topic = "queries"
STATUS = "status"

MOST_RECORDS, MOST_BYTES = 2_000, 4 * 2**20  # of detections in a batch
WAIT_S = 0.05  # for detections; a change of a query that comes alone waits so long
NOT_BEGUN = "the state is still being read"
STATUS_EVERY_S = 0.25  # unless a query changed
APPEND_TIMEOUT_S = 30.0
#: Faults that are the same at the next attempt: a person has to act.
LASTING = StateError, DamagedLogError, OffsetGoneError
WAY_OUT = "restore a backup of the folder, or begin with another folder, and start again"


def sentence_of(error: Exception) -> str:
    """Return why nothing is fused, for everybody; where a person has to act, also what to do."""
    if isinstance(error, StateError):
        return f"the state of the engine cannot be used ({error}): go back to what it was made with, or {WAY_OUT}"
    if isinstance(error, OffsetGoneError):
        return f"what is to be fused next is not in the log any more ({error}): {WAY_OUT}"
    return str(error) if isinstance(error, LogError) else "the engine has failed: what it logs says why"


class FusionThread(FollowerThread[LogReader]):
    """The one shard of a log. Whatever passes, it begins again with what the log has of its state.

    What a person has to mend it says on /readyz, and waits to be stopped. Others of the process go on: detections are
    taken meanwhile, and alerts answered.
    """

    expected = (*FollowerThread.expected, StateError)

    def __init__(
        self,
        log: Log,
        names: TopicNames,
        cores: CoreFactory,
        deaths: WorkerDeaths,
        status: StatusMetrics | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("fusion")
        self._log, self._names, self._cores, self._clock_s = log, names, cores, clock_s
        self._shard: LiveShard
        self._deaths = deaths
        self._metrics = status or StatusMetrics()
        self._problem: str | None = NOT_BEGUN
        self._positions: dict[TopicPartition, int] = {}
        self._reached: dict[TopicPartition, int] = {}  # of those, what is in the log
        self._status: AddressedRecord | None = None
        self._status_due_s = -float("inf")

    def why_not_ready(self) -> str | None:
        """Return why nothing is fused now; None where all goes well."""
        return self._problem if self.is_alive() else NOT_BEGUN

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """How far it has read and told, by topic and partition; of whom nothing was read, nothing."""
        return dict(self._reached)

    def _follow(self) -> None:
        with self._log.reader() as self._queries:
            super()._follow()

    def _connect(self) -> LogReader:
        return self._log.reader(MOST_RECORDS, MOST_BYTES)

    def _begin(self, reader: LogReader) -> None:
        state = read_state(reader, self._names.full(SHARD_STATE))
        if not state:
            retire_other_shards(self._log, self._names)
        positions = positions_in(state)
        self._shard = LiveShard.restored(self._cores, 0, state) if state else LiveShard(0, 0, self._cores.create(0))
        self._status = None
        for topic, reads in ((DETECTIONS, reader), (QUERIES, self._queries)):
            partitions = reader.partitions_of(self._names.full(topic))
            unread = 0 if state else None  # an engine that begins anew has lost nothing that its log no longer has
            reads.read_from({each: positions.get(TopicPartition(topic, each.partition), unread) for each in partitions})
        self._positions, self._reached = positions, dict(positions)
        self._ahead = ChangesAhead(self._queries)
        self._problem = None

    def _take(self, _reader: LogReader, records: list[Record]) -> None:
        """Take detections, and every change that was in the log before them."""
        records += self._ahead.take()
        if records or self._shard.backlog.records:
            self._push(records)
        elif self._status is not None and self._clock_s() >= self._status_due_s:
            self._append([self._status], {})

    def _look(self, reader: LogReader) -> None:
        """Nothing: a log of this machine that cannot be read says so at once."""

    def _wait_s(self) -> float:
        return 0.0 if self._shard.backlog.records else WAIT_S

    def _lose(self, error: Exception) -> None:
        super()._lose(error)
        self._problem = sentence_of(error)
        if isinstance(error, LASTING):
            self.stopping.wait()

    def _push(self, records: Sequence[Record]) -> None:
        for each in records:
            self._positions[TopicPartition(self._names.short(each.topic), each.partition)] = each.offset + 1
        told: list[AddressedRecord] = []
        state: dict[Entry, bytes | None] = {}
        deaths = self._deaths
        host = Host(self._ahead.stopped, deaths.begin(self._shard.version), deaths.at_work)
        parts = BatchParts(after_flood=self._shard.after_flood)
        for step in self._shard.take(self._inputs(records), host, parts):
            told += step.records
            state.update(step.state)
        changes_query = any(self._names.short(each.topic) == QUERIES for each in records)
        self._append(self._due(told, at_once=changes_query), {**state, **entry_of(self._positions)})

    def _inputs(self, records: Iterable[Record]) -> list[InputRecord]:
        of_topic = {self._names.full(topic): topic for topic in (DETECTIONS, QUERIES)}
        return [
            InputRecord(of_topic[each.topic], each.partition, each.offset, each.key, each.value) for each in records
        ]

    def _due(self, told: Iterable[AddressedRecord], *, at_once: bool) -> list[AddressedRecord]:
        """Return what is to be told now: a status only now and then, for every batch has one."""
        due = [each for each in told if each.topic not in {STATUS, DEFERRALS}]
        for each in told:
            if each.topic == STATUS:
                self._status = each
        if self._status is not None and (at_once or self._clock_s() >= self._status_due_s):
            due.append(self._status)
        return due

    def _append(self, told: Sequence[AddressedRecord], state: dict[Entry, bytes | None]) -> None:
        records = [NewRecord(self._names.full(topic), key, value) for topic, key, value in told]
        records += records_of(self._names.full(SHARD_STATE), state)
        self._log.append(records).result(APPEND_TIMEOUT_S)
        self._reached = dict(self._positions)
        for each in told:
            if each.topic == STATUS:
                self._metrics.take(each.key, each.value)
                self._status, self._status_due_s = None, self._clock_s() + STATUS_EVERY_S
