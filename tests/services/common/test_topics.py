from pathlib import Path

import pytest

from services.common.settings import SettingsError
from services.common.topics import load_topics


def test_shipped_topics_are_valid_and_control_topics_are_compacted() -> None:
    topics = load_topics(Path("config/topics.yaml"))
    compacted = {name for name, topic in topics.items() if topic.configs.get("cleanup.policy") == "compact"}
    assert compacted == {f"coincide.{name}" for name in ("queries", "sensors", "status", "template-proposals")}
    assert topics["coincide.queries"].partitions == 1


def test_bad_declaration_is_named(tmp_path: Path) -> None:
    path = tmp_path / "topics.yaml"
    path.write_text("topics: {coincide.matches: {partitions: 0}}")
    with pytest.raises(SettingsError, match="partitions"):
        load_topics(path)
