"""The metrics of alerting, on a registry of the caller's, and how requests are measured."""

import time
from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DELAY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Delays(Histogram):
    """A histogram that takes the delays of a whole batch at once."""

    def observe_all(self, delays_s: Sequence[float]) -> None:
        """Observe each of `delays_s`; one below 0, of clocks that disagree, counts as 0."""
        positive_s = [max(0.0, delay_s) for delay_s in delays_s]
        for place, count in Tally(bisect_left(self._upper_bounds, delay_s) for delay_s in positive_s).items():
            self._buckets[place].inc(count)
        self._sum.inc(sum(positive_s))


class Metrics:
    """Every metric that alerting exports."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.consumed = self._counter("records_consumed", "Records of the log that were read.", "topic")
        self.inserted = self._counter("records_inserted", "Records stored as new rows.", "topic")
        self.duplicates = self._counter("records_duplicate", "Records that were stored already.", "topic")
        self.malformed = self._counter("records_malformed", "Records skipped because unreadable.", "topic")
        self.records_expired = self._counter(
            "records_expired", "Records that the log deleted before they were stored.", "topic"
        )
        self.matches = self._counter("matches", "Matches stored.", "query")
        self.superseded = self._counter("matches_superseded", "Matches that a larger one of them supersedes.", "query")
        self.expected_true = self._counter(
            "expected_true_alarms",
            "Sum of `posterior` over the evidence records stored: how many of their matches are expected to be one "
            "event. Records whose posterior is null are left out.",
            "query",
        )
        self.expected_false = self._counter(
            "expected_false_alarms",
            "Sum of 1 - `posterior` over the evidence records stored: how many of their matches are expected not to be "
            "one event. Records whose posterior is null are left out.",
            "query",
        )
        self.episodes = self._counter("episodes", "Episodes of which nothing was known before.", "query")
        self.retracted = self._counter("episodes_retracted", "Retractions of episodes stored.", "query")
        self.expired = self._counter(
            "rows_expired", "Rows deleted by retention: of age, or for room.", "table", "reason"
        )
        self.stored_matches = Gauge("coincide_alerting_stored_matches", "Matches stored now.", registry=registry)
        self.stored_bytes = self._gauge("stored_bytes", "Bytes of the records stored, estimated.", "table")
        self.failures = self._counter("follower_failures", "Times that following the log failed and began again.")
        self.database_lost_at = Gauge(
            "coincide_alerting_database_lost_timestamp_seconds",
            "When alerting last noticed that its database was deleted or replaced, also before it was started anew, or "
            "is empty though the log was read before; 0: never.",
            registry=registry,
        )
        self.silent_sensors = self._gauge(
            "silent_sensors",
            "Sensors that are silent, of the areas with the most, and without an area of all others; absent while "
            "nobody knows, because fusion does not listen.",
            "area",
        )
        self.lag = Gauge(
            "coincide_alerting_lag_records",
            "Records in the log not yet stored; absent while that is unknown.",
            ["topic"],
            registry=registry,
        )
        self.kafka_up = Gauge("coincide_alerting_kafka_up", "1 while the log answers, else 0.", registry=registry)
        self.record_delay = self._histogram("record_delay_seconds", "From a record's time to stored.", "topic")
        self.match_delay = self._histogram("match_delay_seconds", "Last member received by ingest to match stored.")
        self.episode_delay = self._histogram(
            "episode_delay_seconds", "Newest detection that changed an episode received by ingest to revision stored."
        )
        self.store_time = self._histogram("store_seconds", "Time to store one batch.")
        self.live_readers = Gauge("coincide_alerting_live_readers", "Readers of the live stream.", registry=registry)
        self.live_dropped = self._counter("live_readers_dropped", "Live readers dropped because too slow.")
        self.live_replayed = self._counter("live_rows_replayed", "Rows read from the database for live readers.")
        self.live_sent = self._counter("live_matches_sent", "Matches handed to live readers.")
        self.live_evidence_sent = self._counter("live_evidence_sent", "Evidence of matches handed to live readers.")
        self.live_episodes_sent = self._counter("live_episodes_sent", "Changes of episodes handed to live readers.")
        self.live_alerts_sent = self._counter("live_alerts_sent", "Changes of alerts handed to live readers.")
        self.alerts = self._gauge("alerts", "Alerts stored now.", "state")
        self.alert_steps = self._counter("alert_transitions", "Transitions of alerts stored.", "kind", "change")
        self.deliveries = self._counter("deliveries", "Attempts to tell a receiver.", "receiver", "outcome")
        self.outbox = self._gauge("outbox_deliveries", "Deliveries that wait.", "receiver")
        self.outbox_age = self._gauge("outbox_age_seconds", "For how long the oldest delivery waits.", "receiver")
        self.tells = self._gauge("tells_receivers", "1 where this process, of those on its database, tells receivers.")
        self.writes = self._gauge("writes", "1 where this process, of those on its database, follows and writes.")
        self.delivery_delay = self._histogram(
            "delivery_delay_seconds", "Transition stored to receiver told.", "receiver"
        )
        self.query_changes = self._counter("query_changes", "Changes of queries by what became of them.", "outcome")
        self.requests = self._histogram("request_seconds", "HTTP requests, live streams left out.", "route", "status")

    def forget_what_is_stored(self) -> None:
        """Say nothing of what only the process that writes knows: another one does now."""
        for each in (self.lag, self.silent_sensors, self.stored_bytes, self.alerts, self.outbox, self.outbox_age):
            each.clear()
        self.stored_matches.set(0)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"coincide_alerting_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"coincide_alerting_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Delays:
        return Delays(f"coincide_alerting_{name}", text, labels, buckets=DELAY_BUCKETS_S, registry=self.registry)


UNROUTED = "unrouted"
LIVE = "/v1/live"


class RequestTimes:
    """ASGI middleware: observes how long each request took, by route and status."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and measure it."""
        if scope["type"] != "http" or scope["path"] == LIVE:
            await self._app(scope, receive, send)
            return
        status = 500

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        started_s = time.perf_counter()
        try:
            await self._app(scope, receive, send_noting_status)
        finally:
            route = getattr(scope.get("route"), "path", UNROUTED)
            self._metrics.requests.labels(route, str(status)).observe(time.perf_counter() - started_s)
