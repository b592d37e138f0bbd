"""Runs the archive job as a process runner would, and reads the archive by the law of its names."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from deploy.host.machine import free_ports
from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java
from services.history.archiving.folders import Archive
from services.history.archiving.frame_rows import ROW_SCHEMA
from services.history.archiving.layout import counting_files
from tests.integration.fusion_process import end
from tests.integration.service_process import ServiceProcess, run_module
from tests.patience import BUDGET_S, until


class ArchiveProcess(ServiceProcess):
    """The job on ``bootstrap`` and the topics that begin with ``prefix``; its archive lies in ``folder``."""

    ends_within_s = 60.0

    def __init__(self, bootstrap: str, prefix: str, folder: Path, **settings: Any) -> None:
        [self.port] = free_ports(1)
        self.path, self.log = folder / "archive", folder / "archive.log"
        java = find_java()
        self._home = str(java.home)
        self._settings = {
            "kafka": {"servers": bootstrap},
            "topic_prefix": prefix,
            "path": str(self.path),
            "jars_path": str(ensure_jars(java).spark),
            "port": self.port,
            "interval_s": 0.5,
            "area_hashes": 4,
            **settings,
        }

    def start(self) -> None:
        self.process = run_module("spark_jobs.archive", self.log, "archive", self._settings, JAVA_HOME=self._home)

    def until(self, condition: Callable[[], bool], every_s: float = 0.2) -> None:
        until(condition, 2 * BUDGET_S, every_s=every_s, tell=self.tail)

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def rows(self) -> pa.Table:
        """Return every row that counts now; files that go meanwhile are looked for again."""
        while True:
            with suppress(FileNotFoundError):
                return self._rows()

    def _rows(self) -> pa.Table:
        files = [folder / file.name for folder in Archive(self.path, 1).folders() for file in counting_files(folder)]
        return pa.concat_tables([ROW_SCHEMA.empty_table(), *(pq.ParquetFile(file).read() for file in files)])

    def ids(self) -> list[str]:
        return sorted(self.rows()["id"].to_pylist())

    def committed(self) -> int:
        """Return the first batch that is not committed."""
        commits = (self.path / "_checkpoint" / "commits").glob("[0-9]*")
        return max((int(path.name) + 1 for path in commits), default=0)


@contextmanager
def archive_job(bootstrap: str, prefix: str, folder: Path, **settings: Any) -> Iterator[ArchiveProcess]:
    """Yield the job, not started yet; leave nothing behind, whatever state it is in."""
    job = ArchiveProcess(bootstrap, prefix, folder, **settings)
    try:
        yield job
    finally:
        if hasattr(job, "process") and job.process.is_running():
            end([job.process, *psutil.Process(job.process.pid).children(recursive=True)])
