"""Metrics of the micro-batches, fed by Spark's listener, and the lag in records."""

import json
import logging
from collections import Counter as Counted
from collections.abc import Callable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pyspark import SparkContext
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from spark_jobs.job.restarts import Liveliness

logger = logging.getLogger(__name__)

Offsets = Mapping[str, Mapping[str, int]]
"""Next offset to be read: by topic, then by partition number as text."""

NOTHING_LEFT: Mapping[str, int] = {}


def next_offset(processed: Offsets, place: tuple[str, int], begin: int) -> int:
    """Return where the reading of a topic's partition goes on: at its `begin` where none of it was read."""
    topic, partition = place
    return processed.get(topic, {}).get(str(partition), begin)


BATCH_SECONDS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0)


class BatchMetrics:
    """What Spark reports of every batch of a job, as metrics in ``registry``."""

    def __init__(self, registry: CollectorRegistry, job: str = "fusion") -> None:
        prefix = f"coincide_{job}_"
        self.batches = Counter(f"{prefix}batches", "Micro-batches finished.", registry=registry)
        self.records = Counter(f"{prefix}input_records", "Kafka records read.", registry=registry)
        self.seconds = Histogram(
            f"{prefix}batch_seconds", "Time one micro-batch took.", buckets=BATCH_SECONDS, registry=registry
        )
        self.parts = Counter(
            f"{prefix}batch_part_seconds", "Time of one part of the micro-batches.", ["part"], registry=registry
        )
        self.finished = Gauge(
            f"{prefix}last_batch_timestamp_seconds", "When the last micro-batch was finished.", registry=registry
        )
        self.state_rows = Gauge(f"{prefix}state_rows", "Rows in the state store, all shards.", registry=registry)
        self.state_bytes = Gauge(f"{prefix}state_bytes", "Size of the state store's files.", registry=registry)
        self.state_memory = Gauge(f"{prefix}state_memory_bytes", "Memory of the state store.", registry=registry)
        self.restarts = Counter(f"{prefix}query_restarts", "Restarts of a query that had ended.", registry=registry)

    def observe(self, progress: StreamingQueryProgress) -> None:
        """Take over one batch's figures."""
        self.batches.inc()
        self.records.inc(progress.numInputRows)
        self.seconds.observe(progress.batchDuration / 1_000)
        for part, milliseconds in progress.durationMs.items():
            self.parts.labels(part).inc(milliseconds / 1_000)
        for state in progress.stateOperators:
            self.parts.labels("stateUpdates").inc(state.allUpdatesTimeMs / 1_000)
        self.finished.set_to_current_time()
        for state in progress.stateOperators:
            self.state_rows.set(state.numRowsTotal)
            self.state_memory.set(state.memoryUsedBytes)
            self.state_bytes.set(state.customMetrics.get("rocksdbSstFileSize", 0))


class _ProgressAsText(JStreamingQueryListener):
    """What Java calls: as pyspark has it, but a batch's progress comes as one text.

    Pyspark asks Java for each field of it, in some 200 calls, which took half of the Java process's time.
    """

    def onQueryProgress(self, jevent: Any) -> None:  # noqa: N802
        self.pylistener.onQueryProgress(QueryProgressEvent.fromJson(json.loads(jevent.json())))


class BatchListener(StreamingQueryListener):
    """Hands every event of the query to the metrics, the lag and the liveliness; Spark calls it from a thread."""

    def __init__(self, metrics: BatchMetrics, liveliness: Liveliness, processed: Callable[[Offsets], None]) -> None:
        self._metrics = metrics
        self._liveliness = liveliness
        self._processed = processed
        self._ended_runs: set[str] = set()
        self._wrapped: Any = None

    @property
    def _jlistener(self) -> Any:
        """What pyspark's `addListener` registers."""
        if self._wrapped is None:
            jvm: Any = SparkContext._jvm
            self._wrapped = jvm.PythonStreamingQueryListenerWrapper(_ProgressAsText(self))
        return self._wrapped

    def ended(self, run: str) -> None:
        """Ignore what is still told of a run that was ended: the next one may begin anew."""
        self._ended_runs.add(run)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's names, here and below
        """Log it."""
        logger.info("query %s started, run %s", event.id, event.runId)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Count a finished batch."""
        if str(event.progress.runId) in self._ended_runs:
            return
        self._liveliness.saw()
        self._metrics.observe(event.progress)
        ends: dict[str, dict[str, int]] = {}
        for source in event.progress.sources:
            ends.update(json.loads(source.endOffset or "null") or {})
        self._processed(ends)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: ARG002, N802
        """Take it as a sign of life: Kafka was asked and had nothing new."""
        self._liveliness.saw()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Log it; the supervisor sees it by itself."""
        logger.info("query %s ended, run %s", event.id, event.runId)


class Lag:
    """Records that wait, by topic: end offsets less those that the query has processed.

    What was processed is at first what the checkpoint says, then what each batch reports. While Kafka is away nobody
    knows the ends: the series of the lag are absent then, as Prometheus has it for what cannot be measured, and
    `coincide_fusion_kafka_up` says why. NaN would make every sum and every trend over the time after it NaN as well,
    and the last value would look like a job that neither works nor falls behind.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._processed: Offsets | None = None
        self.kafka_is_away = False
        self._gauge = Gauge(
            "coincide_fusion_lag_records",
            "Records in the topic that the query has not processed; absent while that is unknown.",
            ["topic"],
            registry=registry,
        )
        self._kafka_up = Gauge("coincide_fusion_kafka_up", "1 while Kafka answers, else 0.", registry=registry)

    def processed(self, offsets: Offsets) -> None:
        """Take note of the offsets up to which (open) the query has processed; a topic without any is unread."""
        self._processed = {**(self._processed or {}), **offsets}

    def unread(self) -> None:
        """Take note that the query begins anew, so that it has read nothing."""
        self._processed = {}

    def unread_before(self, ends: Mapping[tuple[str, int], int], begins: Mapping[tuple[str, int], int]) -> int | None:
        """Return how many records before (open) ``ends`` were not processed; None while nobody knows."""
        if self._processed is None:
            return None
        return sum(max(0, end - next_offset(self._processed, place, begins[place])) for place, end in ends.items())

    def measure(
        self,
        begins: Mapping[tuple[str, int], int],
        ends: Mapping[tuple[str, int], int],
        left: Mapping[str, int] = NOTHING_LEFT,
    ) -> None:
        """Compare with the first and the end offsets of the topics, by topic and partition.

        Of a topic's records that were processed, some may be ``left`` to later batches: they wait as well.
        """
        self._tell_of_kafka(is_away=False)
        if self._processed is None:
            return
        waiting: Counted[str] = Counted(left)
        for place, end in ends.items():
            waiting[place[0]] += max(0, end - next_offset(self._processed, place, begins[place]))
        for topic, records in waiting.items():
            self._gauge.labels(topic=topic).set(records)

    def lose(self, *, kafka_is_away: bool) -> None:
        """Take note that nobody knows the ends: Kafka does not answer, or it lacks a topic."""
        self._tell_of_kafka(is_away=kafka_is_away)
        self._gauge.clear()

    def _tell_of_kafka(self, *, is_away: bool) -> None:
        self.kafka_is_away = is_away
        self._kafka_up.set(not is_away)
