"""All of a line goes into a backup, and from there into a line, or to where fusion on Spark begins."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from services.backup.exact_logs import ExactLocalLog, FilePlace
from services.backup.folder import opened
from services.backup.whole import SystemPlaces, restore, save
from services.common.engine.carried_state import CarriedState
from services.common.engine.shard_state import SHARD_STATE, entry_of, records_of
from services.common.log.declared_topic import Topic
from services.common.log.records import NewRecord, TopicPartition
from services.common.topics.line_topics import FORWARDED, topics_of_line
from services.common.topics.topic_names import TopicNames

NAMES = TopicNames("reef.")
TOPICS = {NAMES.full("detections"): Topic(partitions=2)}
POSITIONS = {TopicPartition("detections", 1): 1}
ENTRIES = {("header", 0): b"header", ("slot", 3): b"three"}


class AsKafka(FilePlace):
    """A log in a file that has no topics of a line, as Kafka has none."""

    @contextmanager
    def opened(self) -> Iterator[ExactLocalLog]:
        with super().opened() as exact:
            yield replace(exact, takes_state=False)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of a line with a state, a position of forwarding and a database."""
    folder = tmp_path / "line"
    place = FilePlace(folder / "log.sqlite3", is_new=True)
    with place.opened() as exact:
        exact.log.create_topics(topics_of_line(TOPICS, NAMES))
        records = [NewRecord(NAMES.full("detections"), b"area", b"frame", partition=1)]
        records += records_of(NAMES.full(SHARD_STATE), {**ENTRIES, ("slot", 2): b"gone", **entry_of(POSITIONS)})
        records += records_of(NAMES.full(SHARD_STATE), {("slot", 2): None})
        records += [NewRecord(NAMES.full(FORWARDED), b"matches https://a.example", b"{}")]
        exact.log.append(records).result(10)
    with closing(sqlite3.connect(folder / "alerting.sqlite3")) as database, database:
        database.execute("CREATE TABLE matches (sequence INTEGER PRIMARY KEY AUTOINCREMENT)")
    manifest = save(places(place), tmp_path / "backup")
    assert manifest.topics.keys() == topics_of_line(TOPICS, NAMES).keys()
    return tmp_path / "backup"


def places(log: FilePlace, checkpoint: Path | None = None) -> SystemPlaces:
    return SystemPlaces(log, TOPICS, NAMES, f"sqlite:///{log.path.with_name('alerting.sqlite3')}", checkpoint)


def test_a_line_goes_on_from_a_backup_with_its_state(backup: Path, tmp_path: Path) -> None:
    place = FilePlace(tmp_path / "again" / "log.sqlite3", is_new=True)
    assert restore(backup, opened(backup), places(place)) is True
    with place.opened() as exact, exact.log.reader() as reader:
        for topic in topics_of_line(TOPICS, NAMES):
            assert any(reader.ends(reader.partitions_of(topic)).values()), topic
        state = [each for some in reader.whole(NAMES.full(SHARD_STATE)) for each in some]
    assert CarriedState.of((each.key, each.value) for each in state) == (POSITIONS, ENTRIES)
    assert (tmp_path / "again" / "alerting.sqlite3").exists()


def test_where_there_are_no_topics_of_a_line_a_new_checkpoint_has_its_state(backup: Path, tmp_path: Path) -> None:
    place = AsKafka(tmp_path / "kafka" / "log.sqlite3", is_new=True)
    checkpoint = tmp_path / "checkpoint"
    assert restore(backup, opened(backup), places(place, checkpoint)) is True
    assert CarriedState.read(checkpoint) == (POSITIONS, ENTRIES)
    with place.opened() as exact, exact.log.reader() as reader:
        assert not reader.has(NAMES.full(SHARD_STATE))


def test_without_a_place_for_the_state_the_engine_has_to_begin_anew(backup: Path, tmp_path: Path) -> None:
    place = AsKafka(tmp_path / "kafka" / "log.sqlite3", is_new=True)
    assert restore(backup, opened(backup), places(place)) is False
    unheld = save(places(place), tmp_path / "of-kafka")
    assert unheld.checkpoint is None
    again = FilePlace(tmp_path / "line-again" / "log.sqlite3", is_new=True)
    assert restore(tmp_path / "of-kafka", unheld, places(again)) is False
