"""The state of the whole line, looked at once for each key and handed to every page that this key has open."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

from services.console.rest.component_readings import ComponentReading, ComponentTrend, Samples
from services.console.rest.documents import AlertAnswer, PageAnswer
from services.console.rest.services import Parameters, Rest, RestError, Service, Services

COMPONENTS: tuple[Service, ...] = ("ingest", "fusion", "alerting", "archive", "history", "forwarding")
LOOK_EVERY_S = 2.0
ANSWER_WITHIN_S = 5.0
KEPT_S = 300.0
MOST_ALERTS = 200
LASTING = ("firing", "acknowledged")  # states of alerts whose reason is still there
WANTED = frozenset(
    f"coincide_{name}"
    for name in (
        *(
            f"ingest_{name}"
            for name in (
                "detections_accepted_total",
                "detections_refused_total",
                "posts_total",
                "frames_total",
                "sensors",
            )
        ),
        *(
            f"fusion_{name}"
            for name in (
                "batches_total",
                "batch_seconds_sum",
                "batch_seconds_count",
                "last_batch_timestamp_seconds",
                "lag_records",
                "kafka_up",
                "detections_total",
                "late_total",
                "evicted_total",
                "matches_total",
                "episodes_total",
                "buffered_detections",
                "state_bytes",
            )
        ),
        *(
            f"alerting_{name}"
            for name in (
                "records_inserted_total",
                "lag_records",
                "kafka_up",
                "match_delay_seconds_bucket",
                "live_readers",
                "deliveries_total",
                "outbox_deliveries",
                "outbox_age_seconds",
                "stored_matches",
                "alerts",
            )
        ),
        *(f"archive_{name}" for name in ("rows_total", "files_total")),
        *(f"forwarding_{name}" for name in ("detections_total", "refused_total", "waiting_records")),
    )
)


@dataclass(frozen=True)
class LineReading:
    """What is known of the line now; a component that nobody looks at has no trend. Alerts: None while unknown."""

    trends: Mapping[Service, ComponentTrend] = field(default_factory=dict)
    alerts: Sequence[AlertAnswer] | None = None
    now_s: float = 0.0  # seconds since the epoch

    def of(self, component: Service) -> ComponentTrend:
        """Return what is known of a component."""
        return self.trends.get(component, ComponentTrend())


class LineWatch:
    """Looks at every component as long as a page is open. Lives on the event loop.

    Each has a loop of its own, so that one that is slow keeps no other from being seen.
    """

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._readings: dict[Service, deque[ComponentReading]] = {}
        self._alerts: Sequence[AlertAnswer] | None = None
        self._holders = 0
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def holders(self) -> int:
        """How many pages look."""
        return self._holders

    def hold(self) -> None:
        """Look again and again until `release`."""
        self._holders += 1
        if self._tasks:
            return
        self._readings = {each: deque() for each in COMPONENTS if each in self._rest.services.urls}
        loops = [self._follow(each) for each in self._readings]
        self._tasks = [asyncio.create_task(each, name="line") for each in (*loops, self._follow_alerts())]

    def release(self) -> None:
        """Stop looking as soon as nobody holds it; what was seen is forgotten, for it would be old."""
        self._holders -= 1
        if self._holders == 0:
            for task in self._tasks:
                task.cancel()
            self._tasks, self._readings, self._alerts = [], {}, None

    async def close(self) -> None:
        """Stop looking."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reading(self) -> LineReading:
        """Return what is known now."""
        trends = {each: ComponentTrend(tuple(readings)) for each, readings in self._readings.items()}
        return LineReading(trends, self._alerts, time.time())

    async def _follow(self, component: Service) -> None:
        readings = self._readings[component]
        while True:
            readings.append(await look_at(self._rest, component))
            while readings[-1].at_s - readings[0].at_s > KEPT_S:
                readings.popleft()
            await asyncio.sleep(LOOK_EVERY_S)

    async def _follow_alerts(self) -> None:
        while True:
            try:
                self._alerts = [alert for state in LASTING for alert in await self._alerts_in(state)]
            except RestError:
                self._alerts = None
            await asyncio.sleep(LOOK_EVERY_S)

    async def _alerts_in(self, state: str) -> list[AlertAnswer]:
        wanted: Parameters = {"kind": "system", "state": state, "limit": MOST_ALERTS}
        return (await self._rest.get(PageAnswer[AlertAnswer], "alerting", "/v1/alerts", wanted)).items


class LineWatches:
    """A watch for each key that is in use."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._watches: dict[str | None, LineWatch] = {}

    def of_key(self, key: str | None) -> LineWatch:
        """Return the watch of `key`; those that nobody holds are forgotten."""
        self._watches = {each: watch for each, watch in self._watches.items() if watch.holders or each == key}
        return self._watches.setdefault(key, LineWatch(self._services.with_key(key)))

    async def close(self) -> None:
        """Stop looking."""
        for watch in self._watches.values():
            await watch.close()


async def look_at(rest: Rest, component: Service) -> ComponentReading:
    """Return whether the component is ready, and its metrics."""
    at_s, is_ready, why_not_ready = time.monotonic(), True, None
    try:
        await _text(rest, component, "/readyz")
    except RestError as error:
        if error.status is None:
            return ComponentReading(at_s, why_away=str(error))
        is_ready, why_not_ready = False, str(error) if error.status == httpx2.codes.SERVICE_UNAVAILABLE else None
    try:
        at_s = time.monotonic()
        samples = Samples.of_text(await _text(rest, component, "/metrics"), WANTED)
    except RestError as error:
        away = str(error) if error.status is None else None
        return ComponentReading(at_s, is_ready, away, why_not_ready, why_untold=str(error))
    except ValueError:
        return ComponentReading(at_s, is_ready, None, why_not_ready, why_untold=f"{component} tells no metrics")
    return ComponentReading(at_s, is_ready, None, why_not_ready, samples)


async def _text(rest: Rest, component: Service, path: str) -> str:
    body = await rest.services.ask(rest.request("GET", component, path), component, ANSWER_WITHIN_S)
    return body.decode("utf-8", "replace")
