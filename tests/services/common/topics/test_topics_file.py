from pathlib import Path

import pytest

from services.common.settings import SettingsError
from services.common.topics.topics_file import load_topics


def test_shipped_topics_are_valid_and_control_topics_are_compacted() -> None:
    topics = load_topics(Path("config/topics.yaml"))
    compacted = {name for name, topic in topics.items() if topic.configs.get("cleanup.policy") == "compact"}
    names = (
        "queries",
        "sensors",
        "templates",
        "clocks",
        "sensor-health",
        "status",
        "template-proposals",
        "alert-controls",
        "keys",
    )
    assert compacted == {f"coincide.{name}" for name in names}
    assert {topics[f"coincide.{name}"].partitions for name in (*names, "deliveries")} == {1}


def test_whatever_kafka_deletes_by_time_it_deletes_by_bytes_too() -> None:
    topics = load_topics(Path("config/topics.yaml"))
    deleted = {name: each.configs for name, each in topics.items() if each.configs.get("cleanup.policy") != "compact"}
    assert len(deleted) == 9
    for configs in deleted.values():
        assert int(configs["retention.ms"]) > 0
        # A segment is deleted whole: one that is as long as all that may be kept would make it twice as much and more.
        assert int(configs["retention.bytes"]) >= int(configs.get("segment.bytes", 2**30))


def test_who_was_told_is_remembered_for_longer_than_what_could_be_told_again() -> None:
    topics = load_topics(Path("config/topics.yaml"))
    kept_ms = {
        name: int(topics[f"coincide.{name}"].configs["retention.ms"]) for name in ("matches", "episodes", "deliveries")
    }
    assert topics["coincide.deliveries"].configs["cleanup.policy"] == "compact,delete"
    assert kept_ms["deliveries"] > max(kept_ms["matches"], kept_ms["episodes"])


def test_bad_declaration_is_named(tmp_path: Path) -> None:
    path = tmp_path / "topics.yaml"
    path.write_text("topics: {matches: {partitions: 0}}")
    with pytest.raises(SettingsError, match="partitions"):
        load_topics(path)


def test_a_declaration_that_has_a_prefix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "topics.yaml"
    path.write_text("topics: {coincide.matches: {partitions: 1}}")
    with pytest.raises(SettingsError, match=r"topic 'coincide\.matches': name it without its prefix, as detections"):
        load_topics(path)
