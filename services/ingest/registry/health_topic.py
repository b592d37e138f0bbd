"""coincide.sensor-health: what fusion hears of the sensors, shown beside them, and as metrics of drift."""

import heapq
import time
from collections.abc import Callable, Iterable

from coincide.learning.drift import is_drift
from services.common.health_board import HealthFeed
from services.common.log.records import Record
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.snapshot import Registry

MEASURED_EVERY_S = 10.0
MOST_AREAS = 100
LEAST_ERRORS = 100  # by chance the distance of fewer is often as great as that of a drift


class HealthView:
    """Keeps what the registry has heard of the sensors equal to the topic, and the metrics of it."""

    def __init__(
        self, registry: Registry, metrics: IngestMetrics, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._registry, self._metrics, self._clock_s = registry, metrics, clock_s
        self._feed = HealthFeed()
        self._measured_s: float | None = None
        self._is_changed = False

    def replace(self, records: Iterable[list[Record]]) -> None:
        """Begin anew with these."""
        self._feed.replace(records)
        self._registry.health, self._is_changed, self._measured_s = self._feed.board, True, None
        self._measure()

    def apply(self, records: list[Record]) -> None:
        """Take what came since."""
        self._feed.apply(records)
        self._is_changed |= bool(records)
        self._measure()

    def _measure(self) -> None:
        """Set the metrics of drift, now and then."""
        now_s = self._clock_s()
        if not self._is_changed or (self._measured_s is not None and now_s - self._measured_s < MEASURED_EVERY_S):
            return
        self._is_changed, self._measured_s = False, now_s
        drifts = self._registry.health.drifts()
        greatest = {
            area: max((each.distance for each in some if each.errors >= LEAST_ERRORS), default=None)
            for area, some in drifts.items()
        }
        worst = heapq.nlargest(MOST_AREAS, ((value, area) for area, value in greatest.items() if value is not None))
        self._metrics.template_drift.clear()
        for distance, area in worst:
            self._metrics.template_drift.labels(area).set(distance)
        certain = sum(is_drift(each) for some in drifts.values() for each in some)
        self._metrics.drifting_templates.set(certain)
