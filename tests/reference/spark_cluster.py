"""A Spark cluster on this machine for tests and benchmarks: a real master, and workers that come and go."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark

from deploy.host.machine import free_ports
from deploy.jvm.java import find_java
from tests.patience import until

SPARK_HOME = Path(pyspark.__file__).parent


class Cluster:
    """A standalone master and the workers that were added to it, all on 127.0.0.1.

    Spark counts tasks, not cores: a worker of one core runs one task at a time, whose Java and Python may use two.
    """

    def __init__(self, folder: Path, memory: str = "1200M", cores: int = 1) -> None:
        [port] = free_ports(1)
        self.folder = folder
        self.url = f"spark://127.0.0.1:{port}"
        self.workers: list[psutil.Popen] = []
        self._each = ["-c", str(cores), "-m", memory]
        self._added = 0
        self.master = self._run("master", "master.Master", "--port", str(port))

    def add_worker(self) -> psutil.Popen:
        """Start one more worker; the master comes to know it in a while."""
        worker = self._run(f"worker-{self._added}", "worker.Worker", *self._each, self.url)
        self._added += 1
        self.workers.append(worker)
        return worker

    def wait_for_workers(self) -> None:
        """Return when the master knows every worker that was added."""
        log = self.folder / "master" / "log"
        until(lambda: log.read_text().count("Registering worker") == self._added, tell=log.read_text)

    def lose(self, worker: psutil.Popen) -> None:
        """End a worker and all that it started at once, as its machine's power cut would (SIGKILL)."""
        self.workers.remove(worker)
        _kill(_family(worker))

    def retire(self, worker: psutil.Popen, timeout_s: float = 120.0) -> None:
        """Have the worker's executors finish what they do and end (SIGPWR); then end the worker in order."""
        worker.send_signal(signal.SIGPWR)
        until(lambda: not executors(worker), tell=lambda: "its executors do not end")
        self.workers.remove(worker)
        worker.terminate()
        worker.wait(timeout_s)

    def end(self) -> None:
        """Kill the daemons and all that they started."""
        _kill([member for each in (self.master, *self.workers) for member in _family(each)])

    def _run(self, name: str, class_name: str, *arguments: str) -> psutil.Popen:
        work, [web_port] = self.folder / name, free_ports(1)
        work.mkdir()
        spark_class = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{class_name}"]
        command = [*spark_class, "--host", "127.0.0.1", "--webui-port", str(web_port), *arguments]
        own = {"JAVA_HOME": str(find_java().home), "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
        own |= {"SPARK_WORKER_DIR": str(work), "SPARK_DAEMON_MEMORY": "300m", "PYSPARK_PYTHON": sys.executable}
        own |= {"SPARK_WORKER_OPTS": "-Dspark.decommission.enabled=true"}
        with (work / "log").open("ab") as log:
            return psutil.Popen(command, cwd=work, env={**os.environ, **own}, stdout=log, stderr=subprocess.STDOUT)


def executors(worker: psutil.Process) -> list[psutil.Process]:
    """Return the executors that the worker has started, each a Java process."""
    return [child for child in worker.children() if _runs(child, "CoarseGrainedExecutorBackend")]


def runs_python(executor: psutil.Process) -> bool:
    """Return whether Spark has started Python below the executor: where a job needs it, it has work there."""
    return any(_runs(child, "pyspark.daemon") for child in executor.children())


def _runs(process: psutil.Process, what: str) -> bool:
    try:
        return any(what in word for word in process.cmdline())
    except psutil.Error:  # it has just ended
        return False


def _family(daemon: psutil.Popen) -> list[psutil.Process]:
    return [daemon, *daemon.children(recursive=True)] if daemon.poll() is None else []


def _kill(family: list[psutil.Process]) -> None:
    for member in family:
        if member.is_running():
            member.kill()
    psutil.wait_procs(family, 30)


@contextmanager
def running_cluster(
    folder: Path, workers: int = 2, memory: str = "1200M", cores: int = 1, *, own_cores: bool = False
) -> Iterator[Cluster]:
    """Start a cluster, and wait until all workers are known; it ends with the block.

    With ``own_cores`` each worker has one core of the machine and no other.
    """
    cluster = Cluster(folder, memory, cores)
    try:
        for core in range(workers):
            worker = cluster.add_worker()
            if own_cores:
                worker.cpu_affinity([core])  # what it starts inherits it
        cluster.wait_for_workers()
        yield cluster
    finally:
        cluster.end()
