"""A line's log goes into another one: all of it, once, however often the copy is cut short."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from deploy.host.machine import ROOT
from deploy.local.broker import Broker
from services.backup.exact_logs import ExactLocalLog, FilePlace
from services.backup.folder import BackupError
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError
from services.common.log.log import Log
from services.common.log.records import NewRecord, Record, RecordPosition, TopicPartition
from services.common.topics.topic_names import TopicNames
from services.common.topics.topics_file import load_topics
from services.line import __main__ as serving
from services.line.growing.folder_lock import claimed, served
from services.line.growing.growth_note import NOTE, GrowthNote
from services.line.growing.log_copy import LogCopy
from services.line.settings import LOG

NAMES = TopicNames("reef.")
DETECTIONS, QUERIES, MATCHES = map(NAMES.full, ("detections", "queries", "matches"))
TOPICS = {
    DETECTIONS: Topic(partitions=2, configs={"retention.ms": "-1"}),
    QUERIES: Topic(partitions=1, configs={"cleanup.policy": "compact"}),
    MATCHES: Topic(partitions=2, configs={"retention.ms": "-1"}),
}
WAIT_S = 30.0


class MovedLog(ExactLocalLog):
    """A log that gives offsets of its own for matches, as Kafka does."""

    def keeps_offsets(self, topic: str) -> bool:
        return topic != "matches"


class CutLog:
    """A log that takes so many appends, and then fails."""

    def __init__(self, log: LocalLog, appends: int) -> None:
        self._log, self._left = log, appends
        self.reader, self.create_topics, self.skip_to, self.begin_at = (
            log.reader,
            log.create_topics,
            log.skip_to,
            log.begin_at,
        )

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        if not self._left:
            raise LogError("cut short")
        self._left -= 1
        return self._log.append(records[:2] if self._left == 0 else records)


@contextmanager
def opened(path: Path) -> Iterator[LocalLog]:
    with FilePlace(path, is_new=True).opened() as exact:
        yield exact.log


def fill(log: LocalLog) -> None:
    """Detections begin behind what expired, queries lack what was compacted."""
    log.create_topics(TOPICS)
    for topic, number in ((DETECTIONS, 0), (MATCHES, 1)):
        log.skip_to(TopicPartition(topic, number), 5)
        log.begin_at(TopicPartition(topic, number), 5)
    for n in range(5):
        of_topics = [(DETECTIONS, n % 2), (QUERIES, 0), (MATCHES, n % 2)]
        log.append([NewRecord(t, b"%d" % n, b"value", (("n", b"%d" % n),), 1 + n, p) for t, p in of_topics]).result(1)
        log.skip_to(TopicPartition(QUERIES, 0), 3 * (n + 1))


def all_of(log: Log) -> dict[str, list[Record]]:
    with log.reader() as reader:
        found = {}
        for topic in TOPICS:
            partitions = reader.partitions_of(topic)
            reader.read_from(dict.fromkeys(partitions))
            found[topic] = sorted(each for some in reader.up_to(reader.ends(partitions)) for each in some)
    return found


def without_offsets(records: Sequence[Record]) -> list[Record]:
    return [each._replace(offset=0) for each in records]


def test_a_copy_that_is_cut_short_after_every_append_is_whole_in_the_end(tmp_path: Path) -> None:
    said: list[str] = []
    with opened(tmp_path / "source") as source, opened(tmp_path / "target") as target:
        fill(source)
        cuts = 0
        for appends in (0, 1, 1, 2, 1, 2, 3, 100):
            cut = CutLog(target, appends)
            copy = LogCopy(ExactLocalLog(source), MovedLog(cut), TOPICS, NAMES, said.append)  # type: ignore[arg-type]
            copy.begin(tmp_path, "here", "there")
            try:
                copy.run()
            except (LogError, BackupError):
                cuts += 1
        assert cuts >= 4
        here, there = all_of(source), all_of(target)
        assert there[DETECTIONS] == here[DETECTIONS]
        assert there[QUERIES] == here[QUERIES]
        assert without_offsets(there[MATCHES]) == without_offsets(here[MATCHES])
        assert [each.offset for each in there[MATCHES]] == [0, 1, 2, 0, 1]
        assert copy.run() == 0
    assert said[-1] == "reef.queries: 0 records copied, 1 partitions as they were"


def test_a_target_with_records_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "source") as source, opened(tmp_path / "target") as target:
        fill(source)
        target.create_topics(TOPICS)
        stranger = [NewRecord(MATCHES, b"k", b"of somebody else", partition=0)]
        target.append(stranger).result(WAIT_S)
        copy = LogCopy(ExactLocalLog(source), ExactLocalLog(target), TOPICS, NAMES, print)
        with pytest.raises(BackupError, match=r"^reef\.matches has records"):
            copy.begin(tmp_path, "here", "there")
        assert GrowthNote.read(tmp_path) is None
    with opened(tmp_path / "source") as source, opened(tmp_path / "other") as target:
        copy = LogCopy(ExactLocalLog(source), MovedLog(target), TOPICS, NAMES, print)
        copy.begin(tmp_path, "here", "there")
        copy.run()
        target.append(stranger).result(WAIT_S)
        with pytest.raises(BackupError, match=r"^reef\.matches has more records in the target than here"):
            copy.run()


def test_a_folder_is_served_by_one_process_and_by_none_once_it_has_grown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_use = pytest.raises(LogError, match=r"^another process uses .*: stop the line there first$")
    with served(tmp_path), in_use, claimed(tmp_path):
        pass
    note = GrowthNote("the log", "Kafka at there:9092", {})
    note.write(tmp_path)
    cut_short = pytest.raises(LogError, match=r"is being copied, and that was cut short, to Kafka at there:9092")
    with cut_short, served(tmp_path):
        pass
    msgspec.structs.replace(note, is_complete=True).write(tmp_path)
    assert serving.main(["--folder", str(tmp_path), "--port", "0"]) == os.EX_CONFIG
    assert f"delete {tmp_path / NOTE} to run the line here again" in capsys.readouterr().err


def fill_much(log: LocalLog, declared: dict[str, Topic], names: TopicNames) -> None:
    log.create_topics(declared)
    for topic, count in (("detections", 40_000), ("matches", 5_000), ("keys", 50)):
        for first in range(0, count, 5_000):
            numbers = range(first, min(first + 5_000, count))
            records = [NewRecord(names.full(topic), b"%d" % (n % 50), b"record %d" % n + 80 * b".") for n in numbers]
            log.append(records).result(WAIT_S)


def everything_in(log: Log, names: TopicNames, topic: str) -> list[tuple[object, ...]]:
    with log.reader(5_000) as reader:
        partitions = reader.partitions_of(names.full(topic))
        reader.read_from(dict.fromkeys(partitions))
        records = sorted(each for some in reader.up_to(reader.ends(partitions)) for each in some)
    return [(each.partition, each.offset, each.timestamp_ms, each.key, each.value) for each in records]


@pytest.mark.jvm
def test_growing_into_kafka_is_whole_though_it_is_killed(kafka: Broker, tmp_path: Path) -> None:
    names = TopicNames("grown.")
    declared = load_topics(ROOT / "config/topics.yaml", names)
    with opened(tmp_path / LOG) as log:
        fill_much(log, declared, names)
    command = [sys.executable, "-m", "coincide", "grow", "--folder", str(tmp_path), "--kafka", kafka.bootstrap]
    command += ["--checkpoint", str(tmp_path / "checkpoint"), "--database", str(tmp_path / "database.sqlite3")]
    environ = {**os.environ, "COINCIDE_ALERTING_TOPIC_PREFIX": names.prefix}
    start = partial(subprocess.Popen, command, cwd=ROOT, env=environ, text=True, stdout=subprocess.PIPE)
    for last_topic in ("deferrals", "detections"):  # so it is killed as it copies the topic that comes next
        with start() as growing:
            assert growing.stdout is not None
            assert any(line.startswith(f"{names.full(last_topic)}: ") for line in growing.stdout)
            assert growing.poll() is None
            growing.kill()
    with start() as growing:
        assert growing.stdout is not None
        said = growing.stdout.read()
    assert growing.returncode == 0, said
    grown = KafkaLog(KafkaConnection(servers=kafka.bootstrap))
    try:
        with opened(tmp_path / LOG) as log:
            for topic in ("detections", "matches", "keys"):
                assert everything_in(grown, names, topic) == everything_in(log, names, topic), topic
    finally:
        grown.close()
