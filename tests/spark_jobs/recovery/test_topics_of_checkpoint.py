"""A checkpoint knows the topics that it has read, whatever their names say later."""

from pathlib import Path

import pytest

from services.common.checkpoint_folder import IDS_FILE
from spark_jobs.recovery.checkpoint import refuse_replaced_topics
from spark_jobs.recovery.halt import Halt

READ = {"detections": "a1", "queries": "b2"}


def test_the_same_topics_are_read_on(tmp_path: Path) -> None:
    for _ in range(2):
        refuse_replaced_topics(tmp_path, READ)
    assert [each.name for each in tmp_path.iterdir()] == [IDS_FILE]


def test_another_topic_of_the_same_name_is_a_halt_until_the_checkpoint_is_made_anew(tmp_path: Path) -> None:
    refuse_replaced_topics(tmp_path, READ)
    for _ in range(2):
        with pytest.raises(Halt, match=r"the topic queries was replaced \(another one has its name\): rebuild") as halt:
            refuse_replaced_topics(tmp_path, {**READ, "queries": "c3"})
        assert halt.value.reason == "topic_replaced"
    (tmp_path / IDS_FILE).unlink()
    refuse_replaced_topics(tmp_path, {**READ, "queries": "c3"})


@pytest.mark.parametrize("content", ["", "{", "7", "[1]", "[" * 100_000])
def test_a_file_that_cannot_be_read_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / IDS_FILE).write_text(content)
    refuse_replaced_topics(tmp_path, READ)
    with pytest.raises(Halt):
        refuse_replaced_topics(tmp_path, {**READ, "detections": "d4"})
