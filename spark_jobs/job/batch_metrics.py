"""Metrics of the micro-batches, fed by Spark's listener, and the lag in records."""

import json
import logging
from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pyspark.sql.streaming.listener import (
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

BATCH_SECONDS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0)


class BatchMetrics:
    """What Spark reports of every batch, as metrics in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        prefix = "coincide_fusion_"
        self.batches = Counter(f"{prefix}batches", "Micro-batches finished.", registry=registry)
        self.records = Counter(f"{prefix}input_records", "Kafka records read.", registry=registry)
        self.seconds = Histogram(
            f"{prefix}batch_seconds", "Time one micro-batch took.", buckets=BATCH_SECONDS, registry=registry
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
        self.finished.set_to_current_time()
        for state in progress.stateOperators:
            self.state_rows.set(state.numRowsTotal)
            self.state_memory.set(state.memoryUsedBytes)
            self.state_bytes.set(state.customMetrics.get("rocksdbSstFileSize", 0))


class BatchListener(StreamingQueryListener):
    """Hands every event of the query to the metrics, the lag and the liveliness; Spark calls it from a thread."""

    def __init__(self, metrics: BatchMetrics, liveliness: Liveliness, processed: Callable[[Offsets], None]) -> None:
        self._metrics = metrics
        self._liveliness = liveliness
        self._processed = processed

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's names, here and below
        """Log it."""
        logger.info("query %s started, run %s", event.id, event.runId)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Count a finished batch."""
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
    """End offsets against processed offsets, as a gauge by topic.

    Before the first batch of this process nothing is known, and the gauge has no value: a restarted job reads its
    offsets from the checkpoint, so "nothing processed" would be a lie.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._processed: Offsets = {}
        self._gauge = Gauge(
            "coincide_fusion_lag_records",
            "Records in the topic that the query has not processed.",
            ["topic"],
            registry=registry,
        )

    def processed(self, offsets: Offsets) -> None:
        """Take note of the offsets up to which (open) the query has processed."""
        self._processed = offsets

    def measure(self, ends: Mapping[tuple[str, int], int]) -> None:
        """Compare with the topics' end offsets, by topic and partition."""
        for topic, partitions in self._processed.items():
            behind = sum(
                max(0, end - partitions.get(str(partition), 0))
                for (name, partition), end in ends.items()
                if name == topic
            )
            self._gauge.labels(topic=topic).set(behind)
