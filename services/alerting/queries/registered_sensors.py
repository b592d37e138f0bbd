"""The sensors that ingest has registered, followed on their compacted topic: what queries are judged by.

They are kept in memory alone: the topic is read whole at every start, and nothing waits for it.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated

import msgspec
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError
from msgspec import Meta, Raw, Struct

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.queries.explaining import KnownSensor
from services.common.compacted_topic import LONGEST_ANSWER_S, poll, records_so_far

SENSORS = "coincide.sensors"
PARTITION = TopicPartition(SENSORS, 0)
RETRY_S = 2.0
PATIENCE_S = LONGEST_ANSWER_S
CACHED_TEMPLATES = 4_096

logger = logging.getLogger(__name__)

Changes = Mapping[str, tuple[KnownSensor, ...] | None]
"""The streams of each sensor by its id; None: it was removed."""


class RegisteredSensors:
    """Every sensor as of now; one thread changes it, any may read it."""

    def __init__(self) -> None:
        self._streams: dict[str, tuple[KnownSensor, ...]] = {}
        self.is_caught_up = False

    def all(self) -> list[KnownSensor]:
        """Return each sensor once for each of its streams, in the order of ids; none before all are known."""
        if not self.is_caught_up:
            return []
        known = self._streams
        return [each for id_ in sorted(known) for each in known[id_]]

    def apply(self, changes: Changes) -> None:
        """Replace, add or remove sensors, all at once."""
        if changes:
            self._streams = _changed(dict(self._streams), [changes])

    def replace(self, changes: Iterable[Changes]) -> None:
        """Make what `changes` leave all the sensors there are."""
        self._streams = _changed({}, changes)
        self.is_caught_up = True


def _changed(
    streams: dict[str, tuple[KnownSensor, ...]], changes: Iterable[Changes]
) -> dict[str, tuple[KnownSensor, ...]]:
    for some in changes:
        for id_, known in some.items():
            if known is None:
                streams.pop(id_, None)
            else:
                streams[id_] = known
    return streams


Name = Annotated[str, Meta(min_length=1, max_length=128)]


class _Record(Struct):
    v: Annotated[int, Meta(ge=1, le=1)]
    sensor: Name
    area: Name
    streams: dict[Name, Raw]


_decode = msgspec.json.Decoder(_Record).decode


@lru_cache(CACHED_TEMPLATES)
def _histogram(template: bytes) -> Histogram:
    return Histogram.from_json(msgspec.json.decode(template))


def sensor_of(value: bytes) -> tuple[KnownSensor, ...]:
    """Read a record of coincide.sensors; a ValueError says what is wrong with it."""
    try:
        record = _decode(value)
        return tuple(
            KnownSensor(record.sensor, record.area, stream, _histogram(bytes(template)))
            for stream, template in sorted(record.streams.items())
        )
    except (HistogramError, RecursionError) as error:
        raise ValueError(f"no template: {error}") from error


def changes_in(records: Iterable[object]) -> Changes:
    """Return the newest of each sensor; an unusable record is passed over, and logged."""
    newest: dict[str, tuple[KnownSensor, ...] | None] = {}
    for record in records:
        try:
            id_ = (record.key or b"").decode()  # type: ignore[attr-defined]
            value = record.value  # type: ignore[attr-defined]
            newest[id_] = None if value is None else sensor_of(value)
        except ValueError as error:  # msgspec's and Unicode's are ValueErrors, too
            logger.warning("skipped a sensor record", extra={"topic": SENSORS, "fault": str(error)})
    return newest


class SensorsFollower(threading.Thread):
    """Keeps `sensors` equal to the topic; whatever fails, it begins again after a pause."""

    def __init__(self, sensors: RegisteredSensors, connect: Callable[[], KafkaConsumer]) -> None:
        super().__init__(name="sensors-follower", daemon=True)
        self._sensors, self._connect = sensors, connect
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End, within a few seconds."""
        self._stopping.set()
        if self.is_alive():
            self.join(PATIENCE_S)

    def run(self) -> None:
        """Follow until stopped."""
        while not self._stopping.is_set():
            try:
                self._follow()
            except (KafkaError, OSError, RuntimeError, LookupError) as error:
                logger.warning("cannot follow the sensors", extra={"topic": SENSORS, "fault": type(error).__name__})
                self._stopping.wait(RETRY_S)

    def _follow(self) -> None:
        consumer = self._connect()
        try:
            self._sensors.replace(map(changes_in, records_so_far(consumer, PARTITION, self._stopping.is_set)))
            while not self._stopping.is_set():
                self._sensors.apply(changes_in(poll(consumer, PARTITION)))
        finally:
            consumer.close(autocommit=False, timeout_ms=1_000)
