"""The history process over what a line has taken: a real archive, and real runs over it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry

from services.common.access.component_access import ComponentAccess
from spark_jobs.archiving.file_names import batch_file
from spark_jobs.archiving.folders import Archive
from spark_jobs.history import _queue, run_service
from spark_jobs.records.kafka_records import InputRecord
from spark_jobs.runs.run_server import RunServer
from spark_jobs.settings import HistorySettings
from tests.console.line import STREAMS, Line
from tests.spark_jobs.replaying.test_answers import table_of


@contextmanager
def running_past(line: Line, folder: Path) -> Iterator[None]:
    """Archive what the line has taken so far, and do runs over it where alerting looks for them."""
    archive = Archive.opened(folder / "archive", 2)
    frames = [InputRecord("detections", 0, nth, key, value) for nth, (key, value) in enumerate(line.frames)]
    table, templates = table_of(frames)
    archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
    archive.write(table, batch_file(0, 0, 0))
    settings = HistorySettings(
        archive_path=archive.path,
        runs_path=folder / "runs",
        kafka_bootstrap="127.0.0.1:1",
        port=line.ports["history"],
    )
    queue = _queue(settings, STREAMS)
    server = RunServer(
        settings, ComponentAccess("history", settings, CollectorRegistry()), run_service(queue, settings)
    )
    queue.start()
    server.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        queue.stop(10)
