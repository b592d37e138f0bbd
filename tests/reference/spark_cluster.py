"""A Spark cluster on this machine for tests and benchmarks: a real master, and workers of one core."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark

from deploy.local.java import find_java
from deploy.local.machine import free_ports, wait_until

SPARK_HOME = Path(pyspark.__file__).parent


class Cluster:
    """A standalone master and some workers of one core, all on 127.0.0.1.

    Spark counts tasks, not cores: a worker of one core runs one task at a time, whose Java and Python may use two. With
    `own_cores` each worker has one core of the machine and no other.
    """

    def __init__(self, folder: Path, workers: int = 2, memory: str = "1200M", *, own_cores: bool = False) -> None:
        port, *web_ports = free_ports(2 + workers)
        self.folder = folder
        self.url = f"spark://127.0.0.1:{port}"
        self.master = self._run("master", "master.Master", "--port", str(port), web_port=web_ports[0])
        self.workers = [
            self._run(f"worker-{number}", "worker.Worker", "-c", "1", "-m", memory, self.url, web_port=web_port)
            for number, web_port in enumerate(web_ports[1:])
        ]
        for core, worker in enumerate(self.workers if own_cores else []):
            worker.cpu_affinity([core])  # what it starts inherits it

    def _run(self, name: str, class_name: str, *arguments: str, web_port: int) -> psutil.Popen:
        work = self.folder / name
        work.mkdir()
        spark_class = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{class_name}"]
        command = [*spark_class, "--host", "127.0.0.1", "--webui-port", str(web_port), *arguments]
        own = {"JAVA_HOME": str(find_java().home), "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
        own |= {"SPARK_WORKER_DIR": str(work), "SPARK_DAEMON_MEMORY": "300m", "PYSPARK_PYTHON": sys.executable}
        with (work / "log").open("ab") as log:
            return psutil.Popen(command, cwd=work, env={**os.environ, **own}, stdout=log, stderr=subprocess.STDOUT)

    def end(self) -> None:
        """Kill the daemons and all that they started."""
        daemons = [self.master, *self.workers]
        family = [member for each in daemons for member in [each, *each.children(recursive=True)]]
        for member in family:
            if member.is_running():
                member.kill()
        psutil.wait_procs(family, 30)


@contextmanager
def running_cluster(
    folder: Path, workers: int = 2, memory: str = "1200M", *, own_cores: bool = False
) -> Iterator[Cluster]:
    """Start a cluster, and wait until all workers are known; it ends with the block."""
    cluster, log = Cluster(folder, workers, memory, own_cores=own_cores), folder / "master" / "log"
    try:
        assert wait_until(lambda: log.read_text().count("Registering worker") == workers, 240), log.read_text()
        yield cluster
    finally:
        cluster.end()
