"""What the job relies on in Spark itself: the hash of grouping keys, and a lock that the Java process holds."""

import fcntl
import random
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from spark_jobs.job.dataflow import shard_keys, spark_hash
from spark_jobs.recovery.checkpoint import LockError, lock_checkpoint, lock_path

pytestmark = pytest.mark.jvm


def test_the_hash_is_sparks(job_session: SparkSession) -> None:
    values = [*range(100), *random.Random(1987).sample(range(2**31), 400)]
    rows = job_session.createDataFrame([(value,) for value in values], "key int").select("key", F.hash("key")).collect()
    assert {row[0]: row[1] for row in rows} == {value: spark_hash(value) for value in values}


def test_every_shard_gets_a_partition_of_its_own(job_session: SparkSession) -> None:
    keys = job_session.createDataFrame([(key,) for key in shard_keys(4)], "key int")
    placed = keys.repartition(4, "key").select("key", F.spark_partition_id()).collect()
    assert {row[0]: row[1] for row in placed} == {key: shard for shard, key in enumerate(shard_keys(4))}


def test_a_held_lock_refuses_and_a_released_one_does_not(job_session: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    with lock_path(checkpoint).open("w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        with pytest.raises(LockError, match="another fusion job is running on the checkpoint"):
            lock_checkpoint(job_session._jvm, checkpoint, wait_s=0.3)
        threading.Timer(0.5, fcntl.lockf, (held, fcntl.LOCK_UN)).start()
        assert lock_checkpoint(job_session._jvm, checkpoint, wait_s=30).isValid()
    with lock_path(checkpoint).open("a") as other, pytest.raises(BlockingIOError):
        fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
