"""The job's life: session, lock, checkpoint, query, metrics; started in that order, stopped in the reverse one."""

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress

from prometheus_client import CollectorRegistry
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from coincide import Stream
from spark_jobs.job.batch_metrics import BatchListener, BatchMetrics, Lag
from spark_jobs.job.checkpoint import (
    CheckpointError,
    Declared,
    committed_offsets,
    lock_checkpoint,
    open_checkpoint,
    refuse_unfit,
)
from spark_jobs.job.core_metrics import StatusMetrics, export_unit_costs
from spark_jobs.job.dataflow import stateful_query
from spark_jobs.job.http_server import JobServer
from spark_jobs.job.processor import CoreFactory
from spark_jobs.job.restarts import Backoff, Liveliness, keep_running
from spark_jobs.job.session import SessionError, create_session, end_session, is_lost, shipped_code
from spark_jobs.job.status_follower import KafkaFollower, KafkaReader, retire_status
from spark_jobs.saving.state_format import unusable_state
from spark_jobs.settings import FusionSettings

_POLL_S = 0.05


class FusionJob:
    """One run of the job, from the start of Spark until ``stopping`` is set from outside."""

    def __init__(
        self, settings: FusionSettings, cores: CoreFactory, streams: Mapping[str, Stream], stopping: threading.Event
    ) -> None:
        self._settings = settings
        self._cores = cores
        self._declared = Declared(settings.shards, streams)
        self._stopping = stopping
        self._checkpoint_id: str | None = None
        self._liveliness = Liveliness(settings.stale_after_s)
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._metrics = BatchMetrics(self._registry)
        self._status = StatusMetrics()
        self._registry.register(self._status)
        self._lag = Lag(self._registry)
        export_unit_costs(cores.costs, self._registry)

    def run(self, *, rebuild: bool) -> None:
        """Run until stopped; a Settings-, Lock-, Checkpoint- or SessionError says in one sentence why it cannot."""
        if not rebuild:
            refuse_unfit(self._settings.checkpoint_path, self._declared)  # before Spark takes its seconds to start
        with ExitStack() as stack:
            server = JobServer(self._settings.host, self._settings.port, self._registry, self._liveliness.why_not_ready)
            stack.callback(server.server_close)
            server.start()
            stack.callback(server.shutdown)
            stack.callback(self._stopping.set)
            self._follow_kafka(rebuild)
            spark = create_session(self._settings)
            stack.callback(end_session, spark, 2 * self._settings.stop_timeout_s)
            if not self._settings.master.startswith("local"):
                stack.enter_context(shipped_code(spark))
            _lock = lock_checkpoint(spark._jvm, self._settings.checkpoint_path, self._settings.lock_wait_s)
            spark.streams.addListener(BatchListener(self._metrics, self._liveliness, self._lag.processed))
            query = keep_running(
                lambda: self._start(spark, rebuild),
                self._liveliness,
                Backoff(self._settings.restart_delay_s, self._settings.restart_delay_max_s),
                self._stopping,
                fatal=(CheckpointError, SessionError),
                raise_if_in_vain=self._refuse_unusable_state,
                on_restart=self._metrics.restarts.inc,
            )
            if query is not None:
                stop_in_order(query, self._settings.stop_timeout_s)

    def _follow_kafka(self, rebuild: bool) -> None:
        """Feed the metrics from before Spark starts: what waits is known even if no batch ever ends."""
        processed = {} if rebuild else committed_offsets(self._settings.checkpoint_path)
        if processed is not None:
            self._lag.processed(processed)
        KafkaFollower(self._settings, self._status, self._lag, self._stopping).start()

    def _start(self, spark: SparkSession, rebuild: bool) -> StreamingQuery:
        """Start the query; a `SessionError` says that Spark is lost, so that trying again would be in vain."""
        try:
            if self._checkpoint_id is None:  # it is looked at until it was found fit once, for that may need Kafka
                self._checkpoint_id = self._open_checkpoint(rebuild)
            return stateful_query(spark, self._settings, self._cores, self._checkpoint_id).start()
        except Exception as error:
            if not is_lost(spark):
                raise
            raise SessionError("Spark's Java process or its cluster is gone: start the job again") from error

    def _open_checkpoint(self, rebuild: bool) -> str:
        if rebuild:
            retire_status(self._settings)
        folder = self._settings.checkpoint_path
        return open_checkpoint(folder, self._declared, rebuild=rebuild, has_matches=self._has_matches)

    def _has_matches(self) -> bool:
        with KafkaReader(self._settings) as reader:
            return any(reader.end_offsets([self._settings.topic("matches")]).values())

    def _refuse_unusable_state(self, error: Exception) -> None:
        reason = unusable_state(error)
        if reason is not None:
            raise CheckpointError(f"the state in {self._settings.checkpoint_path} cannot be used: {reason}")


def stop_in_order(query: StreamingQuery, timeout_s: float) -> None:
    """Let the running micro-batch end, for at most ``timeout_s`` seconds, then stop the query."""
    deadline_s = time.monotonic() + timeout_s
    with suppress(Py4JError, OSError):  # the Java process may have been told to end at the same time
        finished = _batches(query)
        while query.status["isTriggerActive"] and _batches(query) == finished and time.monotonic() < deadline_s:
            time.sleep(_POLL_S)
        query.stop()


def _batches(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress.batchId)
