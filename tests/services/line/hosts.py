"""Hosts of the engine, each over the same log: the line in one process, Spark's shard, and one that nobody kills."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

from coincide import Stream
from coincide.fusion.batches.batch_parts import BatchParts
from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.batches.live_shard import Entry, LiveShard
from coincide.fusion.control.host import UNKNOWING
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from services.common.local_log.local_log import LocalLog
from services.common.log.records import NewRecord
from services.line import fusion_thread
from services.line.fusion_thread import FusionThread
from tests.coincide.fusion import outputs
from tests.coincide.fusion.strategies import Pushes
from tests.services.line.fused_logs import NAMES, Fault, at_once, documents, fusing, opened

ANSWERS = ("matches", "episodes", "evidence", "dead-letters")

Documents = list[dict[str, Any]]
Told = Mapping[str, Documents]
"""What was told in each of `ANSWERS`, in order."""


@contextmanager
def one_process(
    folder: Path, most_records: int, fails: Sequence[Fault], streams: Mapping[str, Stream], limits: Limits
) -> Iterator[tuple[LocalLog, FusionThread]]:
    """Run the engine's thread over a new log; it takes so many detections at a time, and loses such appends."""
    with (
        mock.patch.object(fusion_thread, "MOST_RECORDS", most_records),
        at_once(),
        opened(folder) as log,
        fusing(log, *fails, streams=streams, limits=limits) as thread,
    ):
        yield log, thread


def logged(log: LocalLog, records: Iterable[InputRecord]) -> list[InputRecord]:
    """Append records, all at once and in their order, and return them as they stand in the log."""
    ordered = sorted(records, key=lambda each: (each.topic, each.partition, each.offset))
    new = [NewRecord(NAMES.full(each.topic), each.key, each.value, partition=each.partition) for each in ordered]
    placed = log.append(new).result(10)
    return [each._replace(offset=position.offset) for each, position in zip(ordered, placed, strict=True)]


def told_in(log: LocalLog) -> Told:
    return {topic: documents(log, topic) for topic in ANSWERS}


class SparkShard:
    """What Spark does with a shard: it keeps the entries of its state, and makes it anew from them when it likes."""

    def __init__(self, cores: FusionCores) -> None:
        self._cores, self._state = cores, dict[Entry, bytes]()
        self._shard = LiveShard(0, 0, cores.create(0))
        self.told: dict[str, Documents] = {topic: [] for topic in ANSWERS}

    def push(self, batch: Sequence[InputRecord]) -> None:
        for step in self._shard.take(batch, UNKNOWING, BatchParts(after_flood=self._shard.after_flood)):
            self._state |= {entry: content for entry, content in step.state.items() if content is not None}
            for entry in [entry for entry, content in step.state.items() if content is None]:
                self._state.pop(entry, None)
            for each in step.records:
                if each.topic in self.told:
                    self.told[each.topic].append(json.loads(each.value or b""))

    def restart(self) -> None:
        if self._state:
            self._shard = LiveShard.restored(self._cores, 0, self._state)


def told_by_spark(cores: FusionCores, pushes: Pushes, cuts: Iterator[int]) -> Told:
    """Return what Spark tells that takes so many frames at a time, and is started anew before each batch."""
    shard = SparkShard(cores)
    for push in pushes:
        shard.push([each for each in push if each.topic == "queries"])
        frames = iter([each for each in push if each.topic != "queries"])
        while batch := list(islice(frames, next(cuts))):
            shard.restart()
            shard.push(batch)
    return shard.told


def told_by_replay(cores: FusionCores, pushes: Pushes) -> Told:
    """Return what one engine tells that is never killed."""
    given = [cores.create(0)]
    produced = [core.push(push) for core in given for push in pushes]
    return {
        "matches": [document for output in produced for document in outputs.matches(output)],
        "episodes": [document for output in produced for document in outputs.episodes(output)],
        "evidence": [json.loads(each.value) for output in produced for each in output.evidence],
        "dead-letters": [document for output in produced for document in outputs.letters(output)],
    }


def assert_same(told: Told, other: Told) -> None:
    """Both tell the same matches, evidence and dead letters, each once, and the same episodes in the end."""
    for topic, name in (("matches", "id"), ("evidence", "id"), ("dead-letters", "dead_id")):
        assert _by_id(told[topic], name) == _by_id(other[topic], name)
    assert last_episodes(told["episodes"]) == last_episodes(other["episodes"])


def _by_id(told: Documents, name: str) -> dict[str, dict[str, Any]]:
    found = {each[name]: each for each in told}
    assert len(found) == len(told), "something is told twice"
    return found


def last_episodes(told: Documents) -> dict[str, dict[str, Any]]:
    """Return the episodes there are in the end, but for how often they were revised: batches decide that."""
    newest = {each["id"]: each for each in sorted(told, key=outputs.rank)}
    return {
        id_: {name: value for name, value in each.items() if name != "revision"}
        for id_, each in newest.items()
        if not each.get("retracted")
    }
