"""The same job on a Spark cluster: a real master and two workers, one shard on each."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyspark
import pytest

from deploy.local.broker import Broker
from deploy.local.java import find_java
from deploy.local.machine import free_ports, wait_until
from tests.integration.fusion_process import PUT_QUERY, FusionProcess, acoustic, end, fusion_job, seismic

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(900)]

SPARK_HOME = Path(pyspark.__file__).parent


class Cluster:
    """A standalone master and two workers of one core, all on 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        port, *web_ports = free_ports(4)
        self.folder = folder
        self.url = f"spark://127.0.0.1:{port}"
        self.master = self._run("master", "master.Master", "--port", str(port), web_port=web_ports[0])
        self.workers = [
            self._run(f"worker-{number}", "worker.Worker", "-c", "1", "-m", "1200M", self.url, web_port=web_port)
            for number, web_port in enumerate(web_ports[1:])
        ]

    def _run(self, name: str, class_name: str, *arguments: str, web_port: int) -> psutil.Popen:
        work = self.folder / name
        work.mkdir()
        spark_class = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{class_name}"]
        command = [*spark_class, "--host", "127.0.0.1", "--webui-port", str(web_port), *arguments]
        own = {"JAVA_HOME": str(find_java().home), "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
        own |= {"SPARK_WORKER_DIR": str(work), "SPARK_DAEMON_MEMORY": "300m", "PYSPARK_PYTHON": sys.executable}
        with (work / "log").open("ab") as log:
            return psutil.Popen(command, cwd=work, env={**os.environ, **own}, stdout=log, stderr=subprocess.STDOUT)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster, log = Cluster(tmp_path), tmp_path / "master" / "log"
    try:
        assert wait_until(lambda: log.read_text().count("Registering worker") == 2, 240), log.read_text()
        yield cluster
    finally:
        daemons = [cluster.master, *cluster.workers]
        end([member for each in daemons for member in [each, *each.children(recursive=True)]])


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
