"""The archive job: `python -m spark_jobs.archive [--config FILE] [--master URL] [--path FOLDER]`."""

import argparse
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry

from services.common.program.skeleton import exit_status, parser_of, settings_of
from services.common.program.stop_signals import stop_event
from services.common.settings import SettingsError
from services.history.archiving.folders import Archive
from services.history.archiving.layout import POSITION
from spark_jobs.archiving.archive_query import archive_query
from spark_jobs.archiving.job_metrics import ArchiveMetrics
from spark_jobs.job.batch_metrics import BatchMetrics
from spark_jobs.job.lifecycle import SparkRun
from spark_jobs.job.restarts import Liveliness
from spark_jobs.job.session import SessionError
from spark_jobs.recovery.checkpoint import LockError
from spark_jobs.settings import ArchiveSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job until SIGTERM or SIGINT; return the exit status, which is that of the fusion job."""
    given = _parser().parse_args(arguments)

    def run() -> None:
        settings = settings_of(ArchiveSettings, given)
        run_archive(settings, _opened(settings), stop_event())

    return exit_status("archive", run, LockError, SessionError)


def run_archive(settings: ArchiveSettings, archive: Archive, stopping: threading.Event) -> None:
    """Run until stopped; a Settings-, Lock- or SessionError says in one sentence why it cannot."""
    registry = CollectorRegistry()
    batches, metrics = BatchMetrics(registry, "archive"), ArchiveMetrics(registry)
    liveliness = Liveliness(max(settings.stale_after_s, 3 * settings.interval_s))
    run = SparkRun(
        "archive", settings, archive.checkpoint, registry, batches, liveliness, stopping, topics=("detections",)
    )
    run.until_stopped(lambda spark: archive_query(spark, settings, archive, metrics).start())


def _opened(settings: ArchiveSettings) -> Archive:
    if settings.path is None:
        raise SettingsError("path is not set: it is the folder of the archive, which is off until then")
    if (settings.path / POSITION).exists():
        raise SettingsError(f"the archive in {settings.path} is that of a line in one process: choose another folder")
    return Archive.opened(settings.path, settings.area_hashes)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("spark_jobs.archive", "Keep all detections in Parquet.", Path("config/archive.yaml"))
    parser.add_argument("--master", help="Spark master; wins over the setting of that name")
    parser.add_argument("--path", type=Path, help="folder of the archive; wins over the setting of that name")
    return parser


if __name__ == "__main__":
    sys.exit(main())
