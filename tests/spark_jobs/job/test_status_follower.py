"""Tombstones for the status of shards that a rebuilt job does not have."""

from unittest.mock import Mock, call

from spark_jobs.job.status_follower import retire_status
from spark_jobs.settings import FusionSettings


def test_every_shard_that_is_not_there_is_retired() -> None:
    producer = Mock()
    retire_status(FusionSettings(shards=2, topic_prefix="x."), Mock(return_value=producer))
    tombstones = [call("x.status", key=f"shard-{shard}".encode(), value=None) for shard in range(2, 256)]
    assert producer.send.call_args_list == tombstones
    assert producer.send.return_value.get.call_count == len(tombstones)  # it waits until each is acknowledged
    producer.close.assert_called_once()
