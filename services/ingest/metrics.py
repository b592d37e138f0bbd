"""What ingest measures; never a sensor as a label, and an area only where few are named."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from services.ingest.verdicts import Reason

POST_STATUSES = (202, 400, 408, 413, 415, 422, 500, 503)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class IngestMetrics:
    """Collectors of one app, on the registry it is given."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.accepted = self._counter("detections_accepted", "Detections acknowledged by the log.")
        refused = self._counter("detections_refused", "Detections refused, by reason.", "reason")
        self.refused = {reason: refused.labels(reason.value) for reason in Reason}
        self.unacknowledged = self._counter(
            "detections_unacknowledged",
            "Valid detections not acknowledged by the log; their POSTs got 503.",
        )
        posts = self._counter("posts", "POSTs of detections, by HTTP status.", "status")
        self.posts = {status: posts.labels(str(status)) for status in POST_STATUSES}
        self.posts_arriving = self._gauge("posts_arriving", "POSTs whose body is still arriving.")
        self.posts_in_work = self._gauge("posts_in_work", "POSTs whose body is complete, being answered.")
        self.post_seconds = self._histogram("post_seconds", "From the first byte of a POST's body to its answer.")
        self.body_bytes = self._counter("body_bytes", "Bytes of bodies, after inflation.")
        self.frames = self._counter("frames", "Frames acknowledged by the log.")
        self.frame_bytes = self._counter("frame_bytes", "Bytes of frames acknowledged by the log.")
        self.heartbeats = self._counter("heartbeats", "Heartbeats acknowledged in every partition.")
        self.heartbeats_failed = self._counter("heartbeats_failed", "Heartbeats that some partition did not get.")
        self.in_flight_bytes = self._gauge("in_flight_bytes", "Bytes of frames that wait for the log.")
        self.kafka_send_seconds = self._histogram(
            "kafka_send_seconds", "From handing a POST's frames to the producer to the last acknowledgement."
        )
        self.producer_starts = self._counter("producer_starts", "Kafka producers built: 1, and 1 for each wedged one.")
        self.dead_letters = self._counter("dead_letters", "Dead letters handed to the log.")
        self.dead_letters_dropped = self._counter(
            "dead_letters_dropped", "Dead letters not written: rate or bytes in flight exceeded, or the log away."
        )
        self.sensors = self._gauge("sensors", "Sensors in the registry.")
        self.registry_records_unusable = self._counter(
            "registry_records_unusable",
            "Records on coincide.sensors that are no sensor; the sensor keeps its last good one.",
        )

        self.template_drift = Gauge(
            "coincide_ingest_template_drift",
            "Greatest P-P distance of a template from recent errors among an area's sensors that have 100 and more; of "
            "the areas with the greatest.",
            ["area"],
            registry=registry,
        )
        self.drifting_templates = self._gauge(
            "drifting_templates",
            "Sensors and streams whose template is off by 0.1 or more, or a quarter too narrow or wide, not by chance.",
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"coincide_ingest_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"coincide_ingest_{name}", text, registry=self.registry)

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(f"coincide_ingest_{name}", text, buckets=_SECONDS, registry=self.registry)
