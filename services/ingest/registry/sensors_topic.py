"""coincide.sensors: a compacted topic of one partition, keyed by sensor id, which is followed from its beginning.

A null value removes a sensor.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from services.common.log.records import Record
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.sensors import Sensor, SensorError
from services.ingest.registry.snapshot import Registry

SENSORS = "sensors"

log = logging.getLogger(__name__)


def changes(records: Iterable[Record], on_unusable: Callable[[], None]) -> dict[str, Sensor | None]:
    """Return the newest of each sensor in `records`, None for a removal; `on_unusable` for each record that is none."""
    newest: dict[str, Sensor | None] = {}
    for record in records:
        try:
            sensor_id = (record.key or b"").decode("utf-8")
            newest[sensor_id] = None if record.value is None else _sensor(sensor_id, record.value)
        except (SensorError, UnicodeDecodeError) as error:
            on_unusable()
            log.error("record %d of %s is unusable: %s", record.offset, record.topic, error)  # noqa: TRY400 - no traceback
    return newest


def _sensor(sensor_id: str, value: bytes) -> Sensor:
    sensor = Sensor.from_record(value)
    if sensor.id != sensor_id:
        raise SensorError(f"its key is {sensor_id!r}, its sensor {sensor.id!r}: they must be equal")
    return sensor


@dataclass(frozen=True)
class RegistryView:
    """Keeps the registry equal to the topic."""

    registry: Registry
    metrics: IngestMetrics

    def replace(self, records: Iterable[list[Record]]) -> None:
        """Make these all the sensors there are."""
        self.registry.replace(changes(some, self.metrics.registry_records_unusable.inc) for some in records)
        self.metrics.sensors.set(len(self.registry.snapshot.stamps))

    def apply(self, records: list[Record]) -> None:
        """Change what these say."""
        self.registry.apply(changes(records, self.metrics.registry_records_unusable.inc))
        self.metrics.sensors.set(len(self.registry.snapshot.stamps))
