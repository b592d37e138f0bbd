"""coincide.sensors: a compacted topic of one partition, keyed by sensor id; a null value removes a sensor."""

import logging
from collections.abc import Callable, Iterable

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from services.ingest.registry.sensors import Sensor, SensorError

SENSORS = "coincide.sensors"
PARTITION = TopicPartition(SENSORS, 0)
POLL_MS = 500
ANSWER_TIMEOUT_MS = 3000

log = logging.getLogger(__name__)


def end_offset(consumer: KafkaConsumer) -> int:
    """Return the offset of the next record to come; raises KafkaError when Kafka does not answer within 3 s."""
    end: int = consumer.end_offsets([PARTITION], timeout_ms=ANSWER_TIMEOUT_MS)[PARTITION]
    return end


def poll(consumer: KafkaConsumer) -> list[ConsumerRecord]:
    """Return the next records, or none after half a second."""
    records: list[ConsumerRecord] = consumer.poll(POLL_MS).get(PARTITION, [])
    return records


def read_all(consumer: KafkaConsumer, on_unusable: Callable[[], None] = lambda: None) -> dict[str, Sensor]:
    """Return the sensors as the topic has them now; blocks until its end, or a `KafkaError`."""
    consumer.assign([PARTITION])
    consumer.seek_to_beginning(PARTITION)
    end = end_offset(consumer)
    sensors: dict[str, Sensor] = {}
    while consumer.position(PARTITION, timeout_ms=ANSWER_TIMEOUT_MS) < end:
        records = poll(consumer)
        if not records:
            end = end_offset(consumer)  # raises when Kafka has gone meanwhile: poll() would be silent for ever
        for sensor_id, sensor in changes(records, on_unusable).items():
            if sensor is None:
                sensors.pop(sensor_id, None)
            else:
                sensors[sensor_id] = sensor
    return sensors


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
