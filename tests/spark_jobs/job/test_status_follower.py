"""What follows Kafka for the metrics, and tombstones for the status of shards that a rebuilt job does not have."""

import threading
from unittest.mock import Mock, call

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from services.common.engine.core_metrics import StatusMetrics
from services.common.engine.fusion_settings import FusionSettings
from spark_jobs.job.batch_metrics import Lag
from spark_jobs.job.status_follower import KafkaFollower, retire_status
from spark_jobs.recovery.rebuilds import Rebuilds


def test_lag_is_known_before_any_batch_and_unknown_once_kafka_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    registry, stopping, consumer = CollectorRegistry(), threading.Event(), Mock()
    lag_of = {"topic": "x.detections"}
    lag = Lag(registry)
    lag.processed({"x.detections": {"0": 4}})
    seen: list[float | None] = []

    def poll(_wait_ms: int) -> dict[TopicPartition, list[object]]:
        seen.append(registry.get_sample_value("coincide_fusion_lag_records", lag_of))
        if len(seen) == 1:
            return {}
        raise KafkaError("away")

    def connect(*_: object, **__: object) -> Mock:
        if seen:
            stopping.set()
            raise KafkaError("away")
        return consumer

    consumer.partitions_for_topic.return_value = {0}
    consumer.beginning_offsets.side_effect = lambda partitions, timeout_ms: dict.fromkeys(partitions, 0)
    consumer.end_offsets.side_effect = lambda partitions, timeout_ms: dict.fromkeys(partitions, 10)
    consumer.poll.side_effect = poll
    monkeypatch.setattr("spark_jobs.job.status_follower.create_consumer", connect)
    monkeypatch.setattr("services.common.log.follower_thread.PAUSES_S", (0.0, 0.0))
    KafkaFollower(FusionSettings(topic_prefix="x."), StatusMetrics(), lag, Rebuilds(Mock()), stopping).run()
    assert seen == [None, 6]
    assert registry.get_sample_value("coincide_fusion_lag_records", lag_of) is None
    assert registry.get_sample_value("coincide_fusion_kafka_up") == 0


def test_every_shard_that_is_not_there_is_retired() -> None:
    producer = Mock()
    retire_status(FusionSettings(shards=2, topic_prefix="x."), Mock(return_value=producer))
    tombstones = [call("x.status", key=f"shard-{shard}".encode(), value=None) for shard in range(2, 256)]
    assert producer.send.call_args_list == tombstones
    assert producer.send.return_value.get.call_count == len(tombstones)  # it waits until each is acknowledged
    producer.close.assert_called_once()
