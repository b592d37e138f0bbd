"""What the topic of sensors' health says now: the newest of each sensor on each stream, for who follows the topic."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from coincide.wire.sensor_health import HealthError, HealthRecord, SensorHealth, TemplateDrift, health_in
from services.common.log.records import Record

log = logging.getLogger(__name__)


class HealthBoard:
    """The newest that the topic says of every sensor and stream.

    A sensor may be in two records: it has moved to another area, or fusion was rebuilt. Where it was seen last counts.
    """

    def __init__(self) -> None:
        self._by_sensor: dict[tuple[str, str], tuple[bytes, str, SensorHealth]] = {}
        self._of_key: dict[bytes, list[tuple[str, str]]] = {}

    def take(self, key: bytes, value: bytes | None) -> None:
        """Take over one record; one without a value removes its part. Raises `HealthError`."""
        record = HealthRecord("", 0, 0, []) if value is None else health_in(value)
        names = []
        for each in record.sensors:
            names.append((each.sensor, each.stream))
            known = self._by_sensor.get(names[-1])
            if known is None or known[0] == key or known[2].last_seen_us <= each.last_seen_us:
                self._by_sensor[names[-1]] = key, record.area, each
        for name in set(self._of_key.pop(key, ())).difference(names):
            if name in self._by_sensor and self._by_sensor[name][0] == key:
                del self._by_sensor[name]
        if names:
            self._of_key[key] = names

    def of(self, sensor: str, stream: str) -> SensorHealth | None:
        """Return what is known of a sensor on a stream; None if fusion has not heard of it."""
        known = self._by_sensor.get((sensor, stream))
        return None if known is None else known[2]

    def drifts(self) -> dict[str, list[TemplateDrift]]:
        """Return all drifts by area."""
        found: dict[str, list[TemplateDrift]] = {}
        for _, area, health in list(self._by_sensor.values()):
            if health.drift is not None:
                found.setdefault(area, []).append(health.drift)
        return found


class HealthFeed:
    """The board as the topic has it, a view of it; one thread changes it, any may read it."""

    def __init__(self) -> None:
        self.board = HealthBoard()
        self.is_caught_up = False

    def replace(self, records: Iterable[list[Record]]) -> None:
        """Begin anew with these."""
        board = HealthBoard()
        for some in records:
            _take(board, some)
        self.board, self.is_caught_up = board, True

    def apply(self, records: list[Record]) -> None:
        """Take what came since."""
        _take(self.board, records)


def _take(board: HealthBoard, records: Iterable[Record]) -> None:
    for record in records:
        try:
            board.take(record.key or b"", record.value)
        except HealthError as error:
            log.error("record %d of %s is unusable: %s", record.offset, record.topic, error)  # noqa: TRY400 - no traceback
