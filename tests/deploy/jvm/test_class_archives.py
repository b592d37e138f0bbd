"""Archives of loaded classes: each Java and set of jars has its own, and Kafka's Java takes its classes from it."""

from pathlib import Path

import pytest

from deploy.host.machine import free_ports
from deploy.jvm.class_archives import class_archives, use_option
from deploy.local.broker import Broker
from deploy.local.warming import ensure_class_archives


def java_in(folder: Path) -> Path:
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.touch()
    return folder


def test_other_jars_and_another_java_have_archives_of_their_own(tmp_path: Path) -> None:
    one, other = java_in(tmp_path / "one"), java_in(tmp_path / "other")
    before = class_archives(one, tmp_path)
    assert class_archives(one, tmp_path) == before
    assert class_archives(other, tmp_path) != before
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "complete").write_text("fetched")
    assert class_archives(one, tmp_path) != before


def test_an_archive_that_was_not_written_is_not_asked_for(tmp_path: Path) -> None:
    archives = class_archives(java_in(tmp_path / "java"), tmp_path)
    assert not archives.are_written
    assert use_option(archives.broker) == []
    archives.broker.parent.mkdir(parents=True)
    archives.broker.touch()
    assert use_option(archives.broker) == [f"-XX:SharedArchiveFile={archives.broker}"]


@pytest.mark.jvm
def test_kafka_takes_its_classes_from_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ensure_class_archives().are_written
    monkeypatch.setenv("KAFKA_OPTS", f"-Xlog:class+load:file={tmp_path}/loaded.txt")
    broker = Broker(tmp_path / "kafka", *free_ports(2))
    broker.start()
    broker.stop()
    loaded = [line for line in (tmp_path / "loaded.txt").read_text().splitlines() if " org.apache.kafka." in line]
    assert sum("shared objects file (top)" in line for line in loaded) > 0.8 * len(loaded) > 100
