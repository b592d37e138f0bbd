"""The archive job: `python -m spark_jobs.archive [--config FILE] [--master URL] [--path FOLDER]`."""

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from services.common.settings import SettingsError, load_settings
from spark_jobs.archiving.folders import Archive
from spark_jobs.archiving.lifecycle import ArchiveJob
from spark_jobs.fusion import REFUSED
from spark_jobs.job.checkpoint import LockError
from spark_jobs.job.session import SessionError
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
        job = ArchiveJob(settings, _opened(settings), stopping)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        job.run()
    except (SettingsError, LockError, SessionError) as error:
        print(f"archive: {error}", file=sys.stderr)  # noqa: T201 - for the person who started it
        return REFUSED if isinstance(error, SettingsError) else 1
    return 0


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
