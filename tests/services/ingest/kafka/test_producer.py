from unittest.mock import Mock

import pytest
from kafka.partitioner.default import DefaultPartitioner

from services.ingest.kafka.producer import RememberingPartitioner


def test_keys_go_where_kafkas_own_hash_sends_them_and_are_hashed_once() -> None:
    cluster = Mock()
    cluster.topics.return_value = {"detections"}
    cluster.partitions_for_topic.return_value = cluster.available_partitions_for_topic.return_value = set(range(8))
    ours, kafkas = RememberingPartitioner(), DefaultPartitioner()
    keys = [f"area-{number}".encode() for number in range(100)]
    expected = [kafkas.partition("detections", None, key, None, None, cluster) for key in keys]
    assert len(set(expected)) == 8
    cluster.topics.reset_mock()
    for _ in range(2):
        assert [ours.partition("detections", None, key, None, None, cluster) for key in keys] == expected
    assert cluster.topics.call_count == len(keys)
    with pytest.raises(ValueError, match="not found"):
        ours.partition("other", None, b"area", None, b"", cluster)
