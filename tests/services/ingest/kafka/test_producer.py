import pytest
from kafka.partitioner.default import DefaultPartitioner

from services.ingest.kafka.producer import RememberingPartitioner


class Topic:
    """What a partitioner asks of the cluster's metadata."""

    def __init__(self) -> None:
        self.asked = 0

    def topics(self) -> set[str]:
        self.asked += 1
        return {"detections"}

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 1, 2, 3, 4, 5, 6, 7}

    available_partitions_for_topic = partitions_for_topic


def test_keys_go_where_kafkas_own_hash_sends_them_and_are_hashed_once() -> None:
    topic = Topic()
    ours, kafkas = RememberingPartitioner(), DefaultPartitioner()
    keys = [f"area-{number}".encode() for number in range(100)]
    expected = [kafkas.partition("detections", None, key, None, None, topic) for key in keys]
    topic.asked = 0
    for _ in range(2):
        assert [ours.partition("detections", None, key, None, None, topic) for key in keys] == expected
    assert topic.asked == len(keys)
    assert len(set(expected)) == 8


def test_a_topic_that_is_not_there_is_not_remembered() -> None:
    ours = RememberingPartitioner()
    with pytest.raises(ValueError, match="not found"):
        ours.partition("other", None, b"area", None, b"", Topic())
