"""The engine over a log of this machine: killed at any time it tells what an engine tells that nobody kills."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from services.common.engine.shard_state import SHARD_STATE
from services.common.engine.worker_deaths import WorkerDeaths
from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError
from services.common.log.records import NewRecord, RecordPosition, TopicPartition
from services.common.topic_names import TopicNames
from services.line.changes_ahead import ChangesAhead
from services.line.fusion_thread import DETECTIONS, QUERIES, FusionThread
from tests.coincide.fusion.inputs import STREAMS, poisson_frames, put, query_json, removal
from tests.patience import until

NAMES = TopicNames("reef.")
LIMITS = Limits()
COMPACTED = {"cleanup.policy": "compact"}
TOPICS = {
    DETECTIONS: Topic(partitions=8),
    QUERIES: Topic(partitions=1, configs=COMPACTED),
    "matches": Topic(partitions=8),
    "episodes": Topic(partitions=8),
    "dead-letters": Topic(partitions=1),
    "activations": Topic(partitions=1),
    "status": Topic(partitions=1, configs=COMPACTED),
    "sensor-health": Topic(partitions=1, configs=COMPACTED),
    SHARD_STATE: Topic(partitions=1, configs=COMPACTED),
}
SENSORS = [("north", "p", Histogram.uniform(-1, 0), 0.5), ("south", "s", Histogram.uniform(-2, 0), 0.5)]
INPUTS = [put(0, query_json(threshold=0.2)), *poisson_frames(np.random.default_rng(1), SENSORS, 800)]


class ShakyLog:
    """A log of which some appends fail, before or after they are written."""

    def __init__(self, log: LocalLog, fails: Sequence[Literal["before", "after", None]]) -> None:
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


@contextmanager
def fusing(log: LocalLog, *fails: Literal["before", "after", None]) -> Iterator[FusionThread]:
    with TemporaryDirectory() as folder:
        deaths = WorkerDeaths(Path(folder) / "at-work")
    thread = FusionThread(ShakyLog(log, fails), NAMES, FusionCores(STREAMS, LIMITS), deaths)
    thread.start()
    try:
        yield thread
    finally:
        thread.stop()


def append(log: LocalLog, inputs: Sequence[InputRecord]) -> None:
    log.append([NewRecord(NAMES.full(each.topic), each.key, each.value) for each in inputs]).result(10)


def told(log: LocalLog, topic: str) -> list[str]:
    """Return the ids of what stands in a topic, with revisions, in order."""
    with log.reader() as reader:
        partitions = reader.partitions_of(NAMES.full(topic))
        reader.read_from(dict.fromkeys(partitions))
        records = [json.loads(each.value or b"") for some in reader.up_to(reader.ends(partitions)) for each in some]
    return sorted(f"{each['id']} {each.get('revision', '')}" for each in records)


def expected() -> list[str]:
    """Return what one engine tells that gets everything at once."""
    output = FusionCore(STREAMS, LIMITS, 0).push(INPUTS)
    assert len(output.matches) > 10
    return sorted(f"{json.loads(each.value)['id']} " for each in output.matches)


def wait_until_taken(log: LocalLog, thread: FusionThread) -> None:
    with log.reader() as reader:
        of_topics = [each for name in (DETECTIONS, QUERIES) for each in reader.partitions_of(NAMES.full(name))]
        begins = reader.beginnings(of_topics)
        written = {each: end for each, end in reader.ends(of_topics).items() if end > begins[each]}
        ends = {(NAMES.short(each.topic), each.partition): end for each, end in written.items()}
    until(lambda: thread.positions == ends)


@settings(max_examples=8)
@given(
    cuts=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    fails=st.lists(st.sampled_from(["before", "after", None]), max_size=4),
)
def test_whatever_fails_and_however_often_it_starts_it_tells_every_match_once(
    cuts: list[int], fails: list[Literal["before", "after", None]]
) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder)) as log:
        first = 0
        for cut in [*cuts, len(INPUTS)]:
            append(log, INPUTS[first : first + cut])
            first += cut
            with fusing(log, *fails) as thread:
                wait_until_taken(log, thread)
        assert told(log, "matches") == expected()


def test_an_engine_that_begins_anew_begins_where_the_log_does(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        for number in range(TOPICS[DETECTIONS].partitions):
            log.skip_to(TopicPartition(NAMES.full(DETECTIONS), number), 7)
            log.begin_at(TopicPartition(NAMES.full(DETECTIONS), number), 7)
        append(log, INPUTS)
        with fusing(log) as thread:
            wait_until_taken(log, thread)
        assert told(log, "matches") == expected()


def test_a_query_that_is_removed_gives_no_more_answers(tmp_path: Path) -> None:
    with opened(tmp_path) as log, fusing(log) as thread:
        append(log, INPUTS[:10])
        wait_until_taken(log, thread)
        before = told(log, "matches")
        append(log, [removal(1), *INPUTS[10:]])
        wait_until_taken(log, thread)
        assert before
        assert told(log, "matches") == before != expected()


def test_only_the_newest_status_is_told_and_it_is_told_soon(tmp_path: Path) -> None:
    with opened(tmp_path) as log, fusing(log) as thread:
        for each in INPUTS:
            append(log, [each])
        wait_until_taken(log, thread)
        until(lambda: b'"accepted":' in newest(log) and json.loads(newest(log))["totals"] == totals())


def newest(log: LocalLog) -> bytes:
    with log.reader() as reader:
        records = [each for some in reader.whole(NAMES.full("status")) for each in some]
    return records[-1].value or b""


def totals() -> dict[str, int]:
    output = FusionCore(STREAMS, LIMITS, 0).push(INPUTS)
    return dict(json.loads(output.status.value)["totals"])


def test_a_change_that_comes_while_a_batch_is_at_work_stops_its_query_and_is_taken_by_the_next_batch(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as log, log.reader() as reader:
        reader.read_from(dict.fromkeys(reader.partitions_of(NAMES.full(QUERIES))))
        clock_s = [0.0]
        ahead = ChangesAhead(reader, lambda: clock_s[0])
        append(log, [put(0, query_json()), put(1, query_json(name="far"))])
        assert len(ahead.take()) == 2
        append(log, [put(2, query_json(), 2, paused=True), removal(3, "far", 7)])
        assert ahead.stopped() == {}, "it looked a moment ago"
        clock_s[0] = 1.0
        assert ahead.stopped() == {"near": 2, "far": 7}
        append(log, [put(4, query_json(), 3)])
        clock_s[0] = 2.0
        assert ahead.stopped() == {"far": 7}
        assert [each.offset for each in ahead.take()] == [2, 3, 4]
        assert (ahead.stopped(), ahead.take()) == ({}, [])
