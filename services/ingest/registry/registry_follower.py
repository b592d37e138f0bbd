"""Follows coincide.sensors from its beginning, in a thread, and keeps the registry equal to it."""

import logging
import threading
import time
from collections.abc import Callable

from kafka import KafkaConsumer
from kafka.errors import KafkaError

from services.ingest.metrics import IngestMetrics
from services.ingest.registry import sensors_topic
from services.ingest.registry.snapshot import Registry

PROBE_S = 2.0
RETRY_S = 1.0
PATIENCE_S = PROBE_S + (sensors_topic.ANSWER_TIMEOUT_MS + sensors_topic.POLL_MS) / 1000

log = logging.getLogger(__name__)


class RegistryFollower:
    """Keeps `registry` equal to the topic, and knows whether Kafka answers; `connect` may block or raise KafkaError."""

    def __init__(self, registry: Registry, connect: Callable[[], KafkaConsumer], metrics: IngestMetrics) -> None:
        self._registry = registry
        self._connect = connect
        self._metrics = metrics
        self._answered_s: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sensor-registry-follower", daemon=True)

    def start(self) -> None:
        """Begin to follow, in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following; blocks until the thread has ended, for a bounded time."""
        self._stop.set()
        self._thread.join(PATIENCE_S)

    @property
    def kafka_answers(self) -> bool:
        """Whether Kafka has answered a question in the last few seconds."""
        answered_s = self._answered_s
        return answered_s is not None and time.monotonic() - answered_s < PATIENCE_S

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except (KafkaError, OSError, RuntimeError) as error:
                log.warning("cannot follow %s: %s", sensors_topic.SENSORS, type(error).__name__)
                self._answered_s = None
                self._stop.wait(RETRY_S)

    def _follow(self) -> None:
        """Read the topic whole (a removal may be compacted away unseen), then apply what comes."""
        consumer = self._connect()
        try:
            self._registry.replace(sensors_topic.read_all(consumer, self._metrics.registry_records_unusable.inc))
            self._answered_s = time.monotonic()
            while not self._stop.is_set():
                self._metrics.sensors.set(len(self._registry.snapshot.sensors))
                if time.monotonic() - self._answered_s >= PROBE_S:
                    sensors_topic.end_offset(consumer)
                    self._answered_s = time.monotonic()
                records = sensors_topic.poll(consumer)
                self._registry.apply(sensors_topic.changes(records, self._metrics.registry_records_unusable.inc))
        finally:
            consumer.close(timeout_ms=1000)
