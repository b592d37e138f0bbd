"""The sensors that ingest has registered, followed on their compacted topic: what queries and silence are judged by.

They are kept in memory alone: the topic is read whole at every start, and nothing waits for it.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec
from msgspec import Struct

from coincide import Histogram
from coincide.errors import HistogramError, PlaceError
from coincide.places import place_of_form
from coincide.queries.explaining import KnownSensor
from coincide.wire.declarations.sensor_record import SensorRecord
from services.common.log.records import Record

SENSORS = "sensors"
CACHED_TEMPLATES = 4_096

logger = logging.getLogger(__name__)


class RegisteredSensor(Struct, frozen=True):
    """What alerting keeps of a sensor; `changed_at_us` is None where nobody knows."""

    id: str
    area: str
    streams: tuple[KnownSensor, ...]
    expect_every_s: float | None = None
    changed_at_us: int | None = None


Changes = Mapping[str, RegisteredSensor | None]
"""Sensors by their ids; None: it was removed."""


class RegisteredSensors:
    """Every sensor as of now, a view of the topic; one thread changes it, any may read it."""

    def __init__(self) -> None:
        self._by_id: dict[str, RegisteredSensor] = {}
        self.is_caught_up = False

    def all(self) -> list[KnownSensor]:
        """Return each sensor once for each of its streams, in the order of ids; none before all are known."""
        return [known for each in self.each() for known in each.streams]

    def each(self) -> list[RegisteredSensor]:
        """Return every sensor, in the order of ids; none before all are known."""
        by_id = self._by_id
        return [by_id[id_] for id_ in sorted(by_id)] if self.is_caught_up else []

    def replace(self, records: Iterable[list[Record]]) -> None:
        """Begin anew with these."""
        by_id: dict[str, RegisteredSensor] = {}
        for some in records:
            _apply(by_id, changes_in(some))
        self._by_id, self.is_caught_up = by_id, True

    def apply(self, records: list[Record]) -> None:
        """Take what came since, all at once."""
        if records:
            by_id = dict(self._by_id)
            _apply(by_id, changes_in(records))
            self._by_id = by_id


def _apply(by_id: dict[str, RegisteredSensor], changes: Changes) -> None:
    for id_, sensor in changes.items():
        if sensor is None:
            by_id.pop(id_, None)
        else:
            by_id[id_] = sensor


_decode = msgspec.json.Decoder(SensorRecord).decode


@lru_cache(CACHED_TEMPLATES)
def _histogram(template: bytes) -> Histogram:
    return Histogram.from_json(msgspec.json.decode(template))


def sensor_of(value: bytes) -> RegisteredSensor:
    """Read a record of coincide.sensors; a ValueError says what is wrong with it."""
    try:
        record = _decode(value)
        place = None if record.place is None else place_of_form(msgspec.to_builtins(record.place))
        streams = tuple(
            KnownSensor(record.sensor, record.area, stream, _histogram(bytes(template)), place=place)
            for stream, template in sorted(record.streams.items())
        )
    except (HistogramError, RecursionError) as error:
        raise ValueError(f"no template: {error}") from error
    except PlaceError as error:
        raise ValueError(f"no place: {error}") from error
    return RegisteredSensor(record.sensor, record.area, streams, record.expect_every_s, record.changed_at_us)


def changes_in(records: Iterable[Record]) -> Changes:
    """Return the newest of each sensor; an unusable record is passed over, and logged."""
    newest: dict[str, RegisteredSensor | None] = {}
    for record in records:
        try:
            id_ = (record.key or b"").decode()
            newest[id_] = None if record.value is None else sensor_of(record.value)
        except ValueError as error:  # msgspec's and Unicode's are ValueErrors, too
            logger.warning("skipped a sensor record", extra={"topic": record.topic, "fault": str(error)})
    return newest
