"""The same job on a Spark cluster: a real master and two workers, one shard on each."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from deploy.local.broker import Broker
from tests.integration.fusion_process import PUT_QUERY, FusionProcess, acoustic, fusion_job, seismic
from tests.reference.spark_cluster import Cluster, running_cluster

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(900)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def job(kafka: Broker, cluster: Cluster, tmp_path: Path) -> Iterator[FusionProcess]:
    conf = {"spark.executor.memory": "900m"}
    with fusion_job(kafka.bootstrap, "cluster.", tmp_path, shards=2, spark_conf=conf) as job:
        yield job


def runs_python(worker: psutil.Process) -> bool:
    """Return whether Spark has started Python below ``worker``; only the stateful operator needs it."""
    return any(_is_python_worker(child) for child in worker.children(recursive=True))


def _is_python_worker(process: psutil.Process) -> bool:
    try:
        return "pyspark.daemon" in process.cmdline()
    except psutil.Error:  # it has just ended
        return False


def test_two_shards_work_on_two_workers(job: FusionProcess, cluster: Cluster) -> None:
    job.send("queries", [PUT_QUERY])
    job.send("detections", seismic(range(64), areas=64))
    job.start_and_wait("--master", cluster.url)
    job.send("detections", acoustic(range(64), areas=64))
    job.until(lambda: len(job.matched()) >= 64, 120)
    assert job.matched() == [f"seismic-{number}" for number in range(64)]
    latest = {status["shard"]: status for status in job.read_all("status")}
    assert {shard: status["queries"]["intruder"]["version"] for shard, status in latest.items()} == {0: 1, 1: 1}
    assert sum(status["totals"]["accepted"] for status in latest.values()) == 128
    assert all(status["totals"]["accepted"] > 0 for status in latest.values())
    assert [runs_python(worker) for worker in cluster.workers] == [True, True]
    assert job.stop() == 0
