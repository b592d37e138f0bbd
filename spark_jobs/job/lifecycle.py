"""The job's life: session, lock, checkpoint, query, metrics; started in that order, stopped in the reverse one."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from services.common.access.component_access import ComponentAccess
from spark_jobs.job.batch_metrics import BatchListener, BatchMetrics, Lag, Offsets
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
from spark_jobs.settings import FusionSettings, SparkSettings

_POLL_S = 0.05


@dataclass(frozen=True)
class SparkRun:
    """What every job on Spark does from its start until ``stopping`` is set from outside.

    Its parts start in this order and stop in the reverse one: metrics over HTTP, Spark, the lock of the checkpoint, and
    the streaming query, which is started again when it fails.
    """

    component: str
    settings: SparkSettings
    checkpoint: Path
    registry: CollectorRegistry
    metrics: BatchMetrics
    liveliness: Liveliness
    stopping: threading.Event
    processed: Callable[[Offsets], None] = lambda _offsets: None
    fatal: tuple[type[Exception], ...] = (SessionError,)

    def until_stopped(
        self,
        start: Callable[[SparkSession], StreamingQuery],
        before_spark: Callable[[], None] = lambda: None,
        raise_if_in_vain: Callable[[Exception], None] = lambda _error: None,
    ) -> None:
        """Run; a Settings-, Lock- or SessionError, or what is ``fatal``, says in one sentence why it cannot."""
        settings = self.settings
        with ExitStack() as stack:
            access = ComponentAccess(self.component, settings, self.registry, keys_topic=settings.topic("keys"))
            server = JobServer(settings, access, self.registry, self.liveliness.why_not_ready)
            stack.callback(server.server_close)
            server.start()
            stack.callback(server.shutdown)
            stack.callback(self.stopping.set)
            before_spark()
            spark = create_session(settings)
            stack.callback(end_session, spark, 2 * settings.stop_timeout_s)
            if not settings.master.startswith("local"):
                stack.enter_context(shipped_code(spark))
            _lock = lock_checkpoint(spark._jvm, self.checkpoint, settings.lock_wait_s)
            spark.streams.addListener(BatchListener(self.metrics, self.liveliness, self.processed))
            query = keep_running(
                lambda: _started(spark, start),
                self.liveliness,
                Backoff(settings.restart_delay_s, settings.restart_delay_max_s),
                self.stopping,
                fatal=self.fatal,
                raise_if_in_vain=raise_if_in_vain,
                on_restart=self.metrics.restarts.inc,
            )
            if query is not None:
                stop_in_order(query, settings.stop_timeout_s)


def _started(spark: SparkSession, start: Callable[[SparkSession], StreamingQuery]) -> StreamingQuery:
    """Start the query; a `SessionError` says that Spark is lost, so that trying again would be in vain."""
    try:
        return start(spark)
    except Exception as error:
        if not is_lost(spark):
            raise
        raise SessionError("Spark's Java process or its cluster is gone: start the job again") from error


class FusionJob:
    """One run of the job, from the start of Spark until ``stopping`` is set from outside."""

    def __init__(self, settings: FusionSettings, cores: CoreFactory, stopping: threading.Event) -> None:
        self._settings = settings
        self._cores = cores
        self._declared = Declared(settings.shards)
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
        SparkRun(
            "fusion",
            self._settings,
            self._settings.checkpoint_path,
            self._registry,
            self._metrics,
            self._liveliness,
            self._stopping,
            self._lag.processed,
            fatal=(CheckpointError, SessionError),
        ).until_stopped(
            start=lambda spark: self._start(spark, rebuild),
            before_spark=lambda: self._follow_kafka(rebuild),
            raise_if_in_vain=self._refuse_unusable_state,
        )

    def _follow_kafka(self, rebuild: bool) -> None:
        """Feed the metrics from before Spark starts: what waits is known even if no batch ever ends."""
        processed = {} if rebuild else committed_offsets(self._settings.checkpoint_path)
        if processed is not None:
            self._lag.processed(processed)
        KafkaFollower(self._settings, self._status, self._lag, self._stopping).start()

    def _start(self, spark: SparkSession, rebuild: bool) -> StreamingQuery:
        if self._checkpoint_id is None:  # it is looked at until it was found fit once, for that may need Kafka
            self._checkpoint_id = self._open_checkpoint(rebuild)
        return stateful_query(spark, self._settings, self._cores, self._checkpoint_id).start()

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
