"""The Spark session, every Spark property that the job sets with its reason, and the code shipped to a cluster."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from services.common.engine.fusion_settings import SessionSettings
from services.common.kafka.java_options import HIDDEN_OPTIONS
from services.common.settings import SettingsError

_ROCKSDB = "spark.sql.streaming.stateStore.rocksdb"
_CHECKPOINT_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

# A batch is milliseconds of driver work many times a second: compiling it to the utmost and collecting garbage in
# parallel take the cores away from that work. Without these p99 was 1.4 s on two cores, with them 1.0 s.
DRIVER_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

FIXED_PROPERTIES = {
    # The default manager asks Hadoop's FileContext, which starts two processes for every file: 390 ms a batch, not 200.
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
    # transformWithState needs RocksDB; a changelog writes what changed instead of a snapshot per batch.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_ROCKSDB}.changelogCheckpointing.enabled": "true",
    # Rows go to the Python worker through a Unix socket: faster, and no port is opened.
    "spark.python.unix.domain.socket.enabled": "true",
    # Adaptive execution plans every batch again and would merge the shards' partitions.
    "spark.sql.adaptive.enabled": "false",
    # A batch has tens of rows, one for each frame: to generate code for every projection of it, anew in every batch,
    # takes longer than to interpret them all. Whole stages are compiled once and found again, which interpreting loses.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # A batch without new records would only repeat the last one's work.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # A query that finds nothing new says that it is alive; the default of 10 s would look like a hang.
    "spark.sql.streaming.noDataProgressEventInterval": "2000",
    # What a batch left behind is kept for a restart and for inspection, not for the default's 100 batches.
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.session.timeZone": "UTC",
    # The interface listens on every address; metrics are served by the job itself.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark shows the options of sources and sinks in plans and pages; it knows a password by its name, and these not.
    "spark.redaction.regex": f"(?i)secret|password|token|access[.]?key|{HIDDEN_OPTIONS}",
    "spark.sql.redaction.options.regex": f"(?i)url|{HIDDEN_OPTIONS}",
    "spark.log.level": "WARN",
}

CLUSTER_PROPERTIES = {
    # Wait for every core before the first batch, so that each executor gets a shard.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    # One core for each executor, so that its only Python worker keeps its shard's core in memory.
    "spark.executor.cores": "1",
    # A shard stays where it was, but it does not wait for that executor while another one is free. By default it would
    # wait for 3 s in every batch: the shards of a lost worker would crowd on the others for ever, and the executors of
    # the worker that replaces it would have nothing to do.
    "spark.locality.wait": "0s",
    # What runs on a worker that is told to leave is finished, and nothing more is begun there.
    "spark.decommission.enabled": "true",
    # A machine that falls silent is given up before alerting says that the line has stalled (75 s). The defaults look
    # once a minute for an executor that has been silent for two.
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "5s",
}

# One partition of the shuffle for each shard of fusion: a state store each, and no empty tasks.
PROPERTIES_OF_TASKS = ("spark.sql.shuffle.partitions", "spark.cores.max")


class SessionError(Exception):
    """Spark cannot be started, or its Java process died."""


def create_session(settings: SessionSettings) -> SparkSession:
    """Return the one Spark session of this process; a Java process starts with it.

    SettingsError: the folder of the connector's jars has none. SessionError: no Java, or the cluster does not answer.
    """
    # Workers must run this very interpreter, not the first python3 on the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", settings.driver_bind_address)  # else it looks the host's name up, and warns
    assert settings.master is not None  # noqa: S101 - who has none needs no session
    builder = SparkSession.Builder().appName(settings.APP).master(settings.master)
    for name, value in spark_properties(settings).items():
        builder = builder.config(name, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        spark = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise SessionError(f"Spark on {settings.master} could not be started (is there a Java?): {reason}") from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)  # SparkContext has put its own there
    return spark


def is_lost(spark: SparkSession) -> bool:
    """Return whether the session can start no query any more: its Java process died, or its cluster went away."""
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):
        return True


def end_session(spark: SparkSession, timeout_s: float) -> None:
    """Stop Spark and its Java process; one that does not end within ``timeout_s`` seconds is killed."""
    gateway = spark.sparkContext._gateway
    java: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if java is None:
        return  # somebody else's Java process
    killer = threading.Timer(timeout_s, java.kill)
    killer.start()
    try:
        with suppress(Py4JError, OSError):
            spark.stop()
        with suppress(OSError):
            if java.stdin:
                java.stdin.close()  # it ends when its standard input does
        java.wait()
    finally:
        killer.cancel()
        if gateway is not None:
            with suppress(Py4JError, OSError):
                gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None  # a session that this process begins later has its own Java


def spark_properties(settings: SessionSettings) -> dict[str, str]:
    """Return every Spark property of the job, ``settings.spark_conf`` last."""
    tasks = {} if settings.tasks is None else dict.fromkeys(PROPERTIES_OF_TASKS, str(settings.tasks))
    return {
        **FIXED_PROPERTIES,
        **(CLUSTER_PROPERTIES if settings.on_cluster else {}),
        **tasks,
        "spark.sql.streaming.stopTimeout": f"{round(settings.stop_timeout_s * 1_000)}ms",
        "spark.driver.host": settings.driver_host,
        "spark.driver.bindAddress": settings.driver_bind_address,
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": _driver_options(settings.class_archive_path),
        "spark.jars": ",".join(str(jar) for jar in connector_jars(settings.jars_path)),
        **local_files(settings),
        **settings.spark_conf,
    }


def _driver_options(class_archive: Path | None) -> str:
    return DRIVER_OPTIONS if class_archive is None else f"{DRIVER_OPTIONS} -XX:SharedArchiveFile={class_archive}"


def local_files(settings: SessionSettings) -> dict[str, str]:
    """Return the properties by which a job on one machine writes files without starting a process for each.

    Without its native library, which pyspark has not, Hadoop runs `chmod` for every file that it creates: six times a
    batch. This class does it within Java. Spark's launcher needs it, too, so it stands on the class path from the
    beginning. The workers of a cluster have no such path, so there is none of it on a cluster.
    """
    jars = sorted(settings.jars_path.absolute().glob("hadoop-bare-naked-local-fs-*.jar"))
    if not jars or settings.on_cluster:
        return {}
    return {
        "spark.driver.extraClassPath": str(jars[-1]),
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    }


def connector_jars(folder: Path) -> list[Path]:
    """Return the jars in ``folder``, sorted; a `SettingsError` when there are none."""
    jars = sorted(folder.absolute().glob("*.jar"))
    if not jars:
        raise SettingsError(
            f"jars_path is {folder}: there is no jar in it; `make setup` fetches Spark's Kafka connector"
        )
    return jars


SHIPPED = (
    "coincide/**/*.py",
    "services/__init__.py",
    "services/common/**/*.py",
    "services/history/**/*.py",
    "spark_jobs/**/*.py",
)
_ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def shipped_code(spark: SparkSession) -> Iterator[None]:
    """Let the workers import what is `SHIPPED`; they fetch it from this process, so the archive stays until the end."""
    with tempfile.TemporaryDirectory(prefix="coincide-") as folder:
        archive = Path(folder) / "coincide-jobs.zip"
        write_archive(archive)
        spark.sparkContext.addPyFile(str(archive))
        yield


def write_archive(archive: Path) -> None:
    """Write every `SHIPPED` module into the zip file ``archive``."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for module in sorted(path for pattern in SHIPPED for path in _ROOT.glob(pattern)):
            content.write(module, module.relative_to(_ROOT))
