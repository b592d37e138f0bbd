"""A job works on its checkpoint only while its Java process holds the lock; here Python locks as Java does."""

import fcntl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import MagicMock

import pytest
from prometheus_client import CollectorRegistry

from services.common.engine.fusion_settings import FusionSettings
from spark_jobs.job import lifecycle
from spark_jobs.job.batch_metrics import BatchMetrics
from spark_jobs.job.lifecycle import SparkRun
from spark_jobs.job.restarts import Liveliness
from spark_jobs.recovery.checkpoint import LockError, lock_path

LOCK_AND_WAIT = """
import fcntl, sys
file = open(sys.argv[1], "a")
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit("refused")
print("held", flush=True)
sys.stdin.read()
"""


class Channel:
    """As java.nio.channels.FileChannel: its lock is a POSIX one, which a process has against the others."""

    def __init__(self, path: str, mode: str) -> None:
        self._file = Path(path).open({"rw": "a"}[mode])  # noqa: SIM115 - closed by close

    def getChannel(self) -> Self:  # noqa: N802
        return self

    def tryLock(self) -> Self | None:  # noqa: N802
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        return self

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture
def run(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkRun]:
    """A run on the checkpoint without Spark, and without a server."""
    channels: list[Channel] = []

    def opened(path: str, mode: str) -> Channel:
        channels.append(Channel(path, mode))
        return channels[-1]

    jvm = SimpleNamespace(java=SimpleNamespace(io=SimpleNamespace(RandomAccessFile=opened)))
    monkeypatch.setattr(lifecycle, "create_session", lambda _settings: MagicMock(_jvm=jvm))
    for name in ("ComponentAccess", "job_server", "end_session"):
        monkeypatch.setattr(lifecycle, name, MagicMock())
    registry = CollectorRegistry()
    settings = FusionSettings(lock_wait_s=0.3)
    yield SparkRun(
        "fusion", settings, checkpoint, registry, BatchMetrics(registry), Liveliness(60.0), threading.Event()
    )
    for each in channels:
        each.close()


@contextmanager
def other_job(checkpoint: Path) -> Iterator[str]:
    """Another process that locks the checkpoint until the block ends; what it says is held, or nothing."""
    command = [sys.executable, "-c", LOCK_AND_WAIT, str(lock_path(checkpoint))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as other:
        assert other.stdout is not None
        yield other.stdout.readline().decode().strip()
        other.communicate()


def test_a_job_does_not_begin_beside_another_on_its_checkpoint(run: SparkRun, checkpoint: Path) -> None:
    started: list[Any] = []

    def start(spark: Any) -> Any:
        started.append(spark)
        run.stopping.set()
        return MagicMock(status={"isTriggerActive": False})

    with other_job(checkpoint) as said:
        assert said == "held"
        with pytest.raises(LockError, match="another fusion job is running on the checkpoint"):
            run.until_stopped(start)
    assert not started


def test_while_a_job_works_no_other_gets_its_checkpoint(run: SparkRun, checkpoint: Path) -> None:
    beside: list[str] = []

    def start(_spark: Any) -> Any:
        with other_job(checkpoint) as said:
            beside.append(said)
        run.stopping.set()
        return MagicMock(status={"isTriggerActive": False})

    run.until_stopped(start)
    assert beside == [""]
