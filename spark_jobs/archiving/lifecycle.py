"""The archive job's life: session, lock, query, metrics; started in that order, stopped in the reverse one."""

import threading
from contextlib import ExitStack

from prometheus_client import CollectorRegistry

from spark_jobs.archiving.dataflow import archive_query
from spark_jobs.archiving.folders import Archive
from spark_jobs.archiving.job_metrics import ArchiveMetrics
from spark_jobs.job.batch_metrics import BatchListener, BatchMetrics, Offsets
from spark_jobs.job.checkpoint import lock_checkpoint
from spark_jobs.job.http_server import JobServer
from spark_jobs.job.lifecycle import stop_in_order
from spark_jobs.job.restarts import Backoff, Liveliness, keep_running
from spark_jobs.job.session import SessionError, create_session, end_session, is_lost, shipped_code
from spark_jobs.settings import ArchiveSettings


class ArchiveJob:
    """One run of the job, from the start of Spark until ``stopping`` is set from outside."""

    def __init__(self, settings: ArchiveSettings, archive: Archive, stopping: threading.Event) -> None:
        self._settings, self._archive, self._stopping = settings, archive, stopping
        self._liveliness = Liveliness(max(settings.stale_after_s, 3 * settings.interval_s))
        self._registry = CollectorRegistry()
        self._batches = BatchMetrics(self._registry, "archive")
        self._metrics = ArchiveMetrics(self._registry)

    def run(self) -> None:
        """Run until stopped; a Settings-, Lock- or SessionError says in one sentence why it cannot."""
        settings = self._settings
        with ExitStack() as stack:
            server = JobServer(settings.host, settings.port, self._registry, self._liveliness.why_not_ready)
            stack.callback(server.server_close)
            server.start()
            stack.callback(server.shutdown)
            stack.callback(self._stopping.set)
            spark = create_session(settings)
            stack.callback(end_session, spark, 2 * settings.stop_timeout_s)
            if not settings.master.startswith("local"):
                stack.enter_context(shipped_code(spark))
            _lock = lock_checkpoint(spark._jvm, self._archive.checkpoint, settings.lock_wait_s)
            spark.streams.addListener(BatchListener(self._batches, self._liveliness, _forget))
            query = keep_running(
                lambda: archive_query(spark, settings, self._archive, self._metrics).start(),
                self._liveliness,
                Backoff(settings.restart_delay_s, settings.restart_delay_max_s),
                self._stopping,
                fatal=(SessionError,),
                raise_if_in_vain=lambda _: _refuse_lost(is_lost(spark)),
                on_restart=self._batches.restarts.inc,
            )
            if query is not None:
                stop_in_order(query, settings.stop_timeout_s)


def _forget(_offsets: Offsets) -> None:
    """Keep no offsets: the lag of the archive is not measured."""


def _refuse_lost(lost: bool) -> None:
    if lost:
        raise SessionError("Spark's Java process or its cluster is gone: start the job again")
