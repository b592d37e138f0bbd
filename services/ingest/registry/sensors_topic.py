"""coincide.sensors: a compacted topic of one partition, keyed by sensor id, which a thread follows from its beginning.

A null value removes a sensor.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from services.common.compacted_topic import LONGEST_ANSWER_S, end_offset, poll, records_so_far
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.sensors import Sensor, SensorError
from services.ingest.registry.snapshot import Registry

SENSORS = "coincide.sensors"
PARTITION = TopicPartition(SENSORS, 0)
PROBE_S = 2.0
RETRY_S = 1.0
PATIENCE_S = PROBE_S + LONGEST_ANSWER_S

log = logging.getLogger(__name__)


def changes_so_far(
    consumer: KafkaConsumer, on_unusable: Callable[[], None] = lambda: None
) -> Iterator[dict[str, Sensor | None]]:
    """Yield what the topic says from its beginning to its present end, some at a time; it may raise `KafkaError`."""
    for records in records_so_far(consumer, PARTITION):
        yield changes(records, on_unusable)


def changes(records: Iterable[ConsumerRecord], on_unusable: Callable[[], None]) -> dict[str, Sensor | None]:
    """Return the newest of each sensor in `records`, None for a removal; `on_unusable` for each record that is none."""
    newest: dict[str, Sensor | None] = {}
    for record in records:
        try:
            sensor_id = (record.key or b"").decode("utf-8")
            newest[sensor_id] = None if record.value is None else _sensor(sensor_id, record.value)
        except (SensorError, UnicodeDecodeError) as error:
            on_unusable()
            log.error("record %d of %s is unusable: %s", record.offset, SENSORS, error)  # noqa: TRY400 - no traceback
    return newest


def _sensor(sensor_id: str, value: bytes) -> Sensor:
    sensor = Sensor.from_record(value)
    if sensor.id != sensor_id:
        raise SensorError(f"its key is {sensor_id!r}, its sensor {sensor.id!r}: they must be equal")
    return sensor


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
                log.warning("cannot follow %s: %s", SENSORS, type(error).__name__)
                self._answered_s = None
                self._stop.wait(RETRY_S)

    def _follow(self) -> None:
        """Read the topic whole (a removal may be compacted away unseen), then apply what comes."""
        consumer, on_unusable = self._connect(), self._metrics.registry_records_unusable.inc
        try:
            self._registry.replace(changes_so_far(consumer, on_unusable))
            self._answered_s = time.monotonic()
            while not self._stop.is_set():
                self._metrics.sensors.set(len(self._registry.snapshot.stamps))
                if time.monotonic() - self._answered_s >= PROBE_S:
                    end_offset(consumer, PARTITION)
                    self._answered_s = time.monotonic()
                self._registry.apply(changes(poll(consumer, PARTITION), on_unusable))
        finally:
            consumer.close(timeout_ms=1000)
