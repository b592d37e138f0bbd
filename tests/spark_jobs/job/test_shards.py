"""Grouping keys: one partition for each shard. tests/integration compares `spark_hash` with Spark itself."""

import pytest

from spark_jobs.job.dataflow import shard_keys, spark_hash


def test_the_hash_is_the_one_that_spark_documents() -> None:
    # SELECT hash(0), hash(1), hash(2) in Spark SQL
    assert [spark_hash(0), spark_hash(1), spark_hash(2)] == [933211791, -559580957, 1765031574]
    assert sorted(shard_keys(2)) == [0, 2]  # 0 and 1 would share a partition


@pytest.mark.parametrize("shards", [1, 2, 3, 4, 7, 8, 16, 64, 256])
def test_every_shard_has_a_partition_of_its_own(shards: int) -> None:
    keys = shard_keys(shards)
    assert [spark_hash(key) % shards for key in keys] == list(range(shards))
