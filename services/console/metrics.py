"""What the console measures, on a registry of the caller's."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class ConsoleMetrics:
    """Every metric that the console exports."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.refused = self._counter(
            "requests_refused",
            "Requests refused before anybody looked at them: path, host, origin, body, key.",
            "reason",
        )
        self.sign_ins = self._counter("sign_ins", "Attempts to sign in, by outcome: good, bad, away.", "outcome")
        self.asked = self._counter("requests", "Requests to the services, by outcome: good, refused, away.", "outcome")
        self.viewers = self._gauge("viewers", "Open pages.")
        self.feeds = self._gauge("live_connections", "Connections to the live stream: one for each key in use.")
        self.events = self._counter("live_events", "Events of the live stream that were read.")
        self.left_out = self._counter("live_events_left_out", "Events that a page was too slow for.")
        self.reconnects = self._counter("live_reconnects", "Times that the live stream ended and was begun anew.")

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"coincide_console_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"coincide_console_{name}", text, registry=self.registry)
