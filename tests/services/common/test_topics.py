from pathlib import Path

import pytest

from services.common.settings import SettingsError
from services.common.topics import load_topics


def test_shipped_topics_are_valid_and_control_topics_are_compacted() -> None:
    topics = load_topics(Path("config/topics.yaml"))
    compacted = {name for name, topic in topics.items() if topic.configs.get("cleanup.policy") == "compact"}
    names = (
        "queries",
        "sensors",
        "templates",
        "sensor-health",
        "status",
        "template-proposals",
        "alert-controls",
        "keys",
    )
    assert compacted == {f"coincide.{name}" for name in names}
    assert {topics[f"coincide.{name}"].partitions for name in (*names, "deliveries")} == {1}


def test_who_was_told_is_remembered_for_longer_than_what_could_be_told_again() -> None:
    topics = load_topics(Path("config/topics.yaml"))
    kept_ms = {
        name: int(topics[f"coincide.{name}"].configs["retention.ms"]) for name in ("matches", "episodes", "deliveries")
    }
    assert topics["coincide.deliveries"].configs["cleanup.policy"] == "compact,delete"
    assert kept_ms["deliveries"] > max(kept_ms["matches"], kept_ms["episodes"])


def test_bad_declaration_is_named(tmp_path: Path) -> None:
    path = tmp_path / "topics.yaml"
    path.write_text("topics: {coincide.matches: {partitions: 0}}")
    with pytest.raises(SettingsError, match="partitions"):
        load_topics(path)
