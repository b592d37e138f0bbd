"""What ingest measures; never a sensor or an area as a label."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from services.ingest.stamping.verdicts import Reason

POST_STATUSES = (202, 400, 408, 413, 415, 422, 503)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class IngestMetrics:
    """Collectors of one app, on the registry it is given."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.accepted = Counter(
            "coincide_ingest_detections_accepted", "Detections acknowledged by Kafka.", registry=registry
        )
        refused = Counter(
            "coincide_ingest_detections_refused", "Detections refused, by reason.", ["reason"], registry=registry
        )
        self.refused = {reason: refused.labels(reason.value) for reason in Reason}
        self.unacknowledged = Counter(
            "coincide_ingest_detections_unacknowledged",
            "Valid detections that Kafka did not acknowledge in time; their POSTs got 503.",
            registry=registry,
        )
        posts = Counter("coincide_ingest_posts", "POSTs of detections, by HTTP status.", ["status"], registry=registry)
        self.posts = {status: posts.labels(str(status)) for status in POST_STATUSES}
        self.posts_in_work = Gauge("coincide_ingest_posts_in_work", "POSTs being read or answered.", registry=registry)
        self.post_seconds = Histogram(
            "coincide_ingest_post_seconds",
            "From the first byte of a POST's body to its answer.",
            registry=registry,
            buckets=_SECONDS,
        )
        self.body_bytes = Counter("coincide_ingest_body_bytes", "Bytes of bodies, after inflation.", registry=registry)
        self.frames = Counter("coincide_ingest_frames", "Frames acknowledged by Kafka.", registry=registry)
        self.frame_bytes = Counter(
            "coincide_ingest_frame_bytes", "Bytes of frames acknowledged by Kafka.", registry=registry
        )
        self.heartbeats = Counter(
            "coincide_ingest_heartbeats",
            "Heartbeats acknowledged in every partition.",
            registry=registry,
        )
        self.heartbeats_failed = Counter(
            "coincide_ingest_heartbeats_failed", "Heartbeats that some partition did not get.", registry=registry
        )
        self.in_flight_bytes = Gauge(
            "coincide_ingest_in_flight_bytes", "Bytes of frames that wait for Kafka.", registry=registry
        )
        self.kafka_send_seconds = Histogram(
            "coincide_ingest_kafka_send_seconds",
            "From handing a POST's frames to the producer to the last acknowledgement.",
            registry=registry,
            buckets=_SECONDS,
        )
        self.producer_starts = Counter(
            "coincide_ingest_producer_starts", "Kafka producers built: 1, and 1 for each wedged one.", registry=registry
        )
        self.dead_letters = Counter("coincide_ingest_dead_letters", "Dead letters handed to Kafka.", registry=registry)
        self.dead_letters_dropped = Counter(
            "coincide_ingest_dead_letters_dropped",
            "Dead letters not written: rate or bytes in flight exceeded, or Kafka away.",
            registry=registry,
        )
        self.sensors = Gauge("coincide_ingest_sensors", "Sensors in the registry.", registry=registry)
        self.registry_records_unusable = Counter(
            "coincide_ingest_registry_records_unusable",
            "Records on coincide.sensors that are no sensor; the sensor keeps its last good one.",
            registry=registry,
        )
