"""The job's life: session, lock, checkpoint, query, metrics; started in that order, stopped in the reverse one."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kafka.errors import KafkaError
from prometheus_client import CollectorRegistry
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from coincide.fusion.batches.cores import CoreFactory
from coincide.fusion.batches.live_shard import DEFERRALS, OUTPUT_TOPICS
from services.common.access.component_access import ComponentAccess
from services.common.backoff import Backoff
from services.common.checkpoint_folder import spark_folder
from services.common.engine.carried_state import CarriedState
from services.common.engine.core_metrics import StatusMetrics, export_unit_costs
from services.common.engine.fusion_settings import FusionSettings, SparkSettings
from services.common.kafka.clients import described_topics
from services.common.kafka.faults import refusal_of
from services.common.log.records import TopicPartition
from spark_jobs.job.batch_metrics import BatchListener, BatchMetrics, Lag, Offsets
from spark_jobs.job.catching_up import records_in_bulk
from spark_jobs.job.dataflow import EARLIEST, FROM_THE_BEGINNING, SOURCE_TOPICS, Starts, stateful_query
from spark_jobs.job.host_clock import HostClock
from spark_jobs.job.job_server import job_server
from spark_jobs.job.restarts import Liveliness, keep_running
from spark_jobs.job.session import SessionError, create_session, end_session, is_lost, shipped_code
from spark_jobs.job.status_follower import KafkaFollower, KafkaReader, retire_status, write_at_once
from spark_jobs.recovery.checkpoint import (
    CheckpointPurpose,
    committed_offsets,
    forget_carried,
    lock_checkpoint,
    lost_checkpoint,
    offsets_of,
    open_checkpoint,
    rebuild_request,
    refuse_damaged_logs,
    refuse_replaced_topics,
)
from spark_jobs.recovery.halt import ExpiredHalt, Halt, HaltMetrics, refuse_lost_records
from spark_jobs.recovery.losses import Losses
from spark_jobs.recovery.rebuilds import Rebuilds

logger = logging.getLogger(__name__)

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
    is_released: Callable[[], bool] = lambda: False
    is_to_begin_anew: Callable[[], bool] = lambda: False
    lost: Callable[[], Halt | None] = lambda: None
    topics: tuple[str, ...] = ()

    def until_stopped(
        self,
        start: Callable[[SparkSession], StreamingQuery],
        before_spark: Callable[[], None] = lambda: None,
    ) -> None:
        """Run; a Settings-, Lock- or SessionError says in one sentence why it cannot."""
        settings, clock = self.settings, HostClock()
        with ExitStack() as stack:
            access = ComponentAccess(self.component, settings, self.registry)
            server = job_server(settings, access, self.registry, self.liveliness.why_not_ready)
            stack.callback(server.stop)
            server.start()
            stack.callback(self.stopping.set)
            before_spark()
            self._refuse_unwelcoming_kafka()
            spark = create_session(settings)
            stack.callback(end_session, spark, 2 * settings.stop_timeout_s)
            if settings.on_cluster:
                stack.enter_context(shipped_code(spark))
            _lock = lock_checkpoint(spark._jvm, self.checkpoint, settings.lock_wait_s)
            listener = BatchListener(self.metrics, self.liveliness, self.processed)
            spark.streams.addListener(listener)
            query = keep_running(
                lambda: _started(spark, start),
                self.liveliness,
                Backoff(settings.restart_delay_s, settings.restart_delay_max_s),
                self.stopping,
                fatal=(SessionError,),
                on_restart=self.metrics.restarts.inc,
                is_released=self.is_released,
                is_ended=partial(self._is_ended, spark, listener, clock),
            )
            if query is not None:
                stop_in_order(query, settings.stop_timeout_s)

    def _refuse_unwelcoming_kafka(self) -> None:
        """Raise a SessionError where Kafka refuses us: Spark would try for minutes. One that is away is waited for."""
        try:
            described_topics(self.settings.kafka, map(self.settings.topic, self.topics))
        except KafkaError as error:
            if (refusal := refusal_of(error)) is not None:
                raise SessionError(f"Kafka at {self.settings.kafka.servers} cannot be used: {refusal}") from error

    def _is_ended(self, spark: SparkSession, listener: BatchListener, clock: HostClock, query: StreamingQuery) -> bool:
        """End the query if the job is to begin anew, and return whether it is; raise why it cannot go on with it."""
        if (set_back := clock.set_back()) is not None:
            end_session(spark, 0)  # in order it might take as long as the clock was set back
            raise set_back
        begins_anew = self.is_to_begin_anew()
        halt = None if begins_anew else self.lost()
        if not begins_anew and halt is None:
            return False
        listener.ended(str(query.runId))
        stop_in_order(query, self.settings.stop_timeout_s)
        if halt is not None:
            raise halt
        return True


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
        self._declared = CheckpointPurpose(settings.shards)
        self._stopping = stopping
        self._begins_anew = False
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._lag = Lag(self._registry)
        self._liveliness = Liveliness(settings.stale_after_s, kafka_is_away=lambda: self._lag.kafka_is_away)
        self._metrics = BatchMetrics(self._registry)
        self._status = StatusMetrics()
        self._registry.register(self._status)
        self._registry.register(HaltMetrics(lambda: self._liveliness.halt))
        self._losses = Losses(self._registry, partial(write_at_once, settings, "dead-letters"))
        self._rebuilds = Rebuilds(partial(write_at_once, settings, "status"))
        export_unit_costs(cores.costs, self._registry)

    def run(self, *, rebuild: bool) -> None:
        """Run until stopped; a Settings-, Lock- or SessionError says in one sentence why it cannot.

        What a person must put right first it says at /readyz, in its log and as a metric, and waits.
        """
        self._begins_anew = rebuild
        SparkRun(
            "fusion",
            self._settings,
            self._settings.checkpoint_path,
            self._registry,
            self._metrics,
            self._liveliness,
            self._stopping,
            self._lag.processed,
            self._is_released,
            self._is_to_begin_anew,
            lambda: lost_checkpoint(self._settings.checkpoint_path),
            (*SOURCE_TOPICS, *OUTPUT_TOPICS),
        ).until_stopped(start=self._start, before_spark=self._follow_kafka)

    def _is_to_begin_anew(self) -> bool:
        halt = self._liveliness.halt
        by_itself = self._settings.auto_rebuild and halt is not None and halt.reason == "checkpoint_unfit"
        is_noted = rebuild_request(self._settings.checkpoint_path).exists()
        return by_itself or self._begins_anew or is_noted or self._rebuilds.is_asked

    def _is_released(self) -> bool:
        """Whether a rebuild makes it worth starting again at once; none creates a topic."""
        halt = self._liveliness.halt
        return self._is_to_begin_anew() and halt is not None and halt.reason != "topic_missing"

    def _follow_kafka(self) -> None:
        """Feed the metrics from before Spark starts: what waits is known even if no batch ever ends."""
        processed = {} if self._is_to_begin_anew() else offsets_of(self._settings.checkpoint_path)
        if processed is not None:
            self._lag.processed(processed)
        settings, rebuilds, liveliness = self._settings, self._rebuilds, self._liveliness
        KafkaFollower(settings, self._status, self._lag, rebuilds, self._stopping, lambda: liveliness.halt).start()

    def _start(self, spark: SparkSession) -> StreamingQuery:
        checkpoint_id, processed, starts = self._where_to_go_on()
        in_bulk = records_in_bulk(self._settings, processed)
        if in_bulk is not None:
            self._liveliness.in_bulk()
            logger.info("catching up, up to %d records of detections a batch", in_bulk)
        carried = self._settings.checkpoint_path if starts else None
        return stateful_query(spark, self._settings, self._cores, checkpoint_id, in_bulk, starts, carried).start()

    def _where_to_go_on(self) -> tuple[str, Offsets, Starts]:
        """Return the checkpoint's id, up to which offsets it has read, and where it begins if it has read nothing.

        A Halt says why nobody can go on from it.
        """
        with KafkaReader(self._settings) as reader:
            self._refuse_missing_topics(reader)
            checkpoint_id = self._open_checkpoint(reader)
            folder = spark_folder(self._settings.checkpoint_path, checkpoint_id)
            refuse_damaged_logs(folder)
            if processed := committed_offsets(folder) or {}:
                forget_carried(self._settings.checkpoint_path)
            starts = FROM_THE_BEGINNING if processed else self._carried_starts(reader)
            processed = processed or {topic: _read_of(offsets) for topic, offsets in starts.items()}
            sources = [self._settings.topic(name) for name in SOURCE_TOPICS]
            described = described_topics(self._settings.kafka, sources)
            refuse_replaced_topics(folder, {name: str(described[name]["topic_id"]) for name in sources})
            try:
                refuse_lost_records(processed, reader.first_offsets(sources), reader.end_offsets(sources))
            except ExpiredHalt as halt:
                self._losses.tell(halt.expired)
                raise
        return checkpoint_id, processed, starts

    def _carried_starts(self, reader: KafkaReader) -> Starts:
        """Return up to where the line in one process had read whose state the checkpoint begins with."""
        if (carried := CarriedState.read(self._settings.checkpoint_path)) is None:
            return FROM_THE_BEGINNING
        return {
            self._settings.topic(name): {
                str(each.partition): carried.positions.get(TopicPartition(name, each.partition), EARLIEST)
                for each in reader.partitions_of(self._settings.topic(name))
            }
            for name in (*SOURCE_TOPICS, DEFERRALS)
        }

    def _refuse_missing_topics(self, reader: KafkaReader) -> None:
        names = [self._settings.topic(name) for name in (*SOURCE_TOPICS, *OUTPUT_TOPICS)]
        missing = ", ".join(name for name in names if not reader.has(name))
        if missing:
            raise Halt("topic_missing", f"Kafka does not have the topics that fusion needs ({missing})")

    def _open_checkpoint(self, reader: KafkaReader) -> str:
        folder, rebuild = self._settings.checkpoint_path, self._is_to_begin_anew()
        if rebuild:
            retire_status(self._settings)
            self._lag.unread()
        matches = [self._settings.topic("matches")]
        checkpoint_id = open_checkpoint(
            folder, self._declared, rebuild=rebuild, has_matches=lambda: any(reader.end_offsets(matches).values())
        )
        if rebuild:
            detections = [self._settings.topic("detections")]
            self._rebuilds.begin(reader.first_offsets(detections), reader.end_offsets(detections))
            logger.warning("there is a new checkpoint: fusion begins anew from the topics")
            self._liveliness.released()
        self._begins_anew = False
        rebuild_request(folder).unlink(missing_ok=True)
        return checkpoint_id


def _read_of(offsets: Mapping[str, int]) -> dict[str, int]:
    return {number: offset for number, offset in offsets.items() if offset != EARLIEST}


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
