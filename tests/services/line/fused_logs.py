"""Logs of a machine over which the engine runs, with appends that fail as in a process that is killed beside them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from unittest import mock

from coincide import Stream
from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from services.common.engine.shard_state import SHARD_STATE
from services.common.engine.worker_deaths import WorkerDeaths
from services.common.local_log.local_log import LocalLog
from services.common.log import follower_thread
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError
from services.common.log.records import NewRecord, RecordPosition
from services.common.topics.topic_names import TopicNames
from services.line.fusion_thread import DETECTIONS, QUERIES, FusionThread
from tests.coincide.fusion.inputs import STREAMS
from tests.patience import until

NAMES = TopicNames("reef.")
#: Where nobody waits for a disk, if the system has such a place.
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
LIMITS = Limits()
COMPACTED = {"cleanup.policy": "compact"}
TOPICS = {
    DETECTIONS: Topic(partitions=8),
    QUERIES: Topic(partitions=1, configs=COMPACTED),
    "matches": Topic(partitions=8),
    "episodes": Topic(partitions=8),
    "evidence": Topic(partitions=8),
    "dead-letters": Topic(partitions=1),
    "activations": Topic(partitions=1),
    "status": Topic(partitions=1, configs=COMPACTED),
    "sensor-health": Topic(partitions=1, configs=COMPACTED),
    SHARD_STATE: Topic(partitions=1, configs=COMPACTED),
}

Fault = Literal["before", "after", None]


class ShakyLog:
    """A log of which some appends fail, before or after they are written; the last of `fails` comes first."""

    name, option, problem = "the log", "", None

    def __init__(self, log: LocalLog, fails: Sequence[Fault]) -> None:
        self._log, self._fails = log, list(fails)
        self.reader, self.create_topics, self.close = log.reader, log.create_topics, log.close

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        fails = self._fails.pop() if self._fails else None
        failed = Future[list[RecordPosition]]()
        failed.set_exception(LogError("the disk is full", is_retriable=True))
        if fails == "before":
            return failed
        written = self._log.append(records)
        return written if fails is None else (written.result(10), failed)[1]


@contextmanager
def opened(folder: Path) -> Iterator[LocalLog]:
    log = LocalLog(folder / "log.sqlite3")
    try:
        log.create_topics({NAMES.full(name): topic for name, topic in TOPICS.items()})
        yield log
    finally:
        log.close()


def at_once() -> AbstractContextManager[object]:
    """Let whoever has lost an append try again at once."""
    return mock.patch.object(follower_thread, "PAUSES_S", (0.001, 0.001))


@contextmanager
def fusing(
    log: LocalLog, *fails: Fault, streams: Mapping[str, Stream] = STREAMS, limits: Limits = LIMITS
) -> Iterator[FusionThread]:
    """Run the engine over a log until the block ends."""
    with TemporaryDirectory() as folder:
        deaths = WorkerDeaths(Path(folder) / "at-work")
    thread = FusionThread(ShakyLog(log, fails), NAMES, FusionCores(streams, limits), deaths)
    thread.start()
    try:
        yield thread
    finally:
        thread.stop()


def append(log: LocalLog, inputs: Sequence[InputRecord]) -> None:
    log.append([NewRecord(NAMES.full(each.topic), each.key, each.value) for each in inputs]).result(10)


def documents(log: LocalLog, topic: str) -> list[dict[str, Any]]:
    """Return what stands in a topic, partition by partition."""
    with log.reader() as reader:
        partitions = reader.partitions_of(NAMES.full(topic))
        reader.read_from(dict.fromkeys(partitions))
        found = [each for some in reader.up_to(reader.ends(partitions)) for each in some]
    return [json.loads(each.value or b"") for each in sorted(found, key=lambda each: (each.partition, each.offset))]


def wait_until_taken(log: LocalLog, thread: FusionThread) -> None:
    with log.reader() as reader:
        of_topics = [each for name in (DETECTIONS, QUERIES) for each in reader.partitions_of(NAMES.full(name))]
        begins = reader.beginnings(of_topics)
        written = {each: end for each, end in reader.ends(of_topics).items() if end > begins[each]}
        ends = {(NAMES.short(each.topic), each.partition): end for each, end in written.items()}
    until(lambda: thread.positions == ends, every_s=0.005)
