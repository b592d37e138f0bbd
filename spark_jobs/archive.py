"""The archive job: `python -m spark_jobs.archive [--config FILE] [--master URL] [--path FOLDER]`."""

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry

from services.common.program.stop_signals import set_by_signals
from services.common.settings import SettingsError, load_settings
from spark_jobs.archiving.archive_query import archive_query
from spark_jobs.archiving.folders import Archive
from spark_jobs.archiving.job_metrics import ArchiveMetrics
from spark_jobs.fusion import REFUSED
from spark_jobs.job.batch_metrics import BatchMetrics
from spark_jobs.job.lifecycle import SparkRun
from spark_jobs.job.restarts import Liveliness
from spark_jobs.job.session import SessionError
from spark_jobs.recovery.checkpoint import LockError
from spark_jobs.settings import ArchiveSettings

DEFAULT_CONFIG = Path("config/archive.yaml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job until SIGTERM or SIGINT; return the exit status, which is that of the fusion job."""
    given = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("spark_jobs").setLevel(logging.INFO)
    stopping = threading.Event()
    try:
        settings = load_settings(ArchiveSettings, given.config, os.environ)
        chosen = {name: value for name in ("master", "path") if (value := getattr(given, name)) is not None}
        settings = settings.model_copy(update=chosen)
        archive = _opened(settings)
        set_by_signals(stopping, signal.SIGTERM, signal.SIGINT)
        run_archive(settings, archive, stopping)
    except (SettingsError, LockError, SessionError) as error:
        print(f"archive: {error}", file=sys.stderr)  # noqa: T201 - for the person who started it
        return REFUSED if isinstance(error, SettingsError) else 1
    return 0


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
    return Archive.opened(settings.path, settings.area_hashes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m spark_jobs.archive", description="Keep all detections in Parquet.")
    parser.add_argument("--config", type=Path, default=DEFAULT_CONFIG, help=f"settings file (default {DEFAULT_CONFIG})")
    parser.add_argument("--master", help="Spark master; wins over the setting of that name")
    parser.add_argument("--path", type=Path, help="folder of the archive; wins over the setting of that name")
    return parser


if __name__ == "__main__":
    sys.exit(main())
