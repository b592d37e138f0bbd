"""What forwarding measures, on a registry of the caller's."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class ForwardMetrics:
    """Every metric of forwarding."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self.forwarded = self._counter("detections", "Detections that the line above has taken.")
        self.refused = self._counter("refused", "Detections that the line above refused for good, by reason.", "reason")
        self.failures = self._counter("failures", "Attempts to post after which the same is posted again.")
        self.expired = self._counter("expired_records", "Records that the log deleted before they were forwarded.")
        self.superseded = self._counter("superseded_matches", "Matches left out, for another has all of their members.")
        self.waiting = Gauge("coincide_forwarding_waiting_records", "Records to be forwarded.", registry=registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"coincide_forwarding_{name}", text, labels, registry=self._registry)
