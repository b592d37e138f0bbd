"""The thread that follows Kafka for the metrics: status records as they come, the lag every few seconds."""

from __future__ import annotations

import logging
import threading
import time

from kafka.errors import KafkaError

from spark_jobs.kafka_reader import KafkaReader
from spark_jobs.lag import Lag
from spark_jobs.settings import Settings
from spark_jobs.status_metrics import StatusMetrics

logger = logging.getLogger(__name__)

POLL_S = 0.5
RECONNECT_S = 2.0


class KafkaFollower(threading.Thread):
    """Feeds ``status`` and ``lag`` until ``stopping`` is set; an absent broker only makes it try again."""

    def __init__(self, settings: Settings, status: StatusMetrics, lag: Lag, stopping: threading.Event) -> None:
        super().__init__(name="kafka-follower", daemon=True)
        self._settings = settings
        self._status = status
        self._lag = lag
        self._stopping = stopping

    def run(self) -> None:
        """Follow, and start anew after an error."""
        while not self._stopping.is_set():
            try:
                with KafkaReader(self._settings) as reader:
                    self._follow(reader)
            except KafkaError as error:
                logger.warning("metrics cannot follow Kafka (%s)", error)
                self._stopping.wait(RECONNECT_S)

    def _follow(self, reader: KafkaReader) -> None:
        reader.follow(self._settings.topic("status"))
        sources = [self._settings.topic("detections"), self._settings.topic("queries")]
        measured_s = -float("inf")
        while not self._stopping.is_set():
            for record in reader.poll(POLL_S):
                self._status.take(record.key or b"", record.value)
            if time.monotonic() - measured_s >= self._settings.lag_interval_s:
                self._lag.measure(reader.end_offsets(sources))
                measured_s = time.monotonic()
