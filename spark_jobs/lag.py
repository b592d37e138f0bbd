"""Lag in records: how many the topics hold that the query has not processed yet."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Gauge

from spark_jobs.batch_metrics import Offsets


class Lag:
    """End offsets against processed offsets, as a gauge by topic.

    Before the first batch of this process nothing is known, and the gauge has no value: a restarted job reads its
    offsets from the checkpoint, so "nothing processed" would be a lie.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
        self._processed: Offsets = {}
        self._gauge = Gauge(
            "coincide_fusion_lag_records",
            "Records in the topic that the query has not processed.",
            ["topic"],
            registry=registry,
        )

    def processed(self, offsets: Offsets) -> None:
        """Take note of the offsets up to which (open) the query has processed."""
        with self._lock:
            self._processed = offsets

    def measure(self, ends: Mapping[tuple[str, int], int]) -> None:
        """Compare with the topics' end offsets, by topic and partition."""
        with self._lock:
            processed = self._processed
        for topic, partitions in processed.items():
            behind = sum(
                max(0, end - partitions.get(str(partition), 0))
                for (name, partition), end in ends.items()
                if name == topic
            )
            self._gauge.labels(topic=topic).set(behind)
