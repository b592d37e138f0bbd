"""Everything about ingest that an operator may set."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from services.common.settings import MOST_OPEN_PER_PEER, ComponentSettings, OpenPerPeer, Port


class IngestSettings(ComponentSettings):
    """Settings of ingest: config/ingest.yaml, each field overridable as COINCIDE_INGEST_<FIELD>."""

    PREFIX: ClassVar[str] = "COINCIDE_INGEST_"

    port: Port = 8010
    sensors_path: Path = Field(Path("config/sensors.yaml"), description="The sensors that seed_sensors publishes.")

    max_body_bytes: int = Field(
        2 * 1024 * 1024, ge=1024, le=64 * 1024 * 1024, description="Longest body, before and after inflation (413)."
    )
    max_detections_per_post: int = Field(5000, ge=1, le=100_000, description="Most items in one POST (413).")
    body_timeout_s: float = Field(10.0, gt=0, le=300, description="How long a body may take to arrive (408).")
    max_concurrent_posts: int = Field(
        256,
        ge=1,
        le=100_000,
        description="POSTs in work at once, from when their body is complete; more are answered 503 with Retry-After.",
    )
    max_open_per_peer: OpenPerPeer = MOST_OPEN_PER_PEER
    max_connections: int = Field(
        1024,
        ge=1,
        le=1_000_000,
        description="Connections open at once; a request on one more is answered 503. Bodies that arrive take "
        "`max_body_bytes` of memory on each at worst.",
    )
    max_future_s: float = Field(
        300.0, ge=0, le=1e8, description="How far detected_at may be ahead of this machine's clock."
    )

    recent_detections: int = Field(
        20_000, ge=0, le=1_000_000, description="Detections kept in memory for GET /v1/detections, in 16 MiB at most."
    )

    sigma_digits: int | None = Field(
        None,
        ge=1,
        le=15,
        description="Round an event's own sigma_s up to so many significant digits, so that events share templates.",
    )

    kafka_timeout_s: float = Field(
        10.0, ge=1, le=120, description="How long Kafka may take to acknowledge a frame; then the POST gets 503."
    )
    kafka_linger_ms: int = Field(
        2, ge=0, le=1000, description="How long the producer gathers frames for one request: fewer, larger requests."
    )
    max_in_flight_bytes: int = Field(
        32 * 1024 * 1024, ge=1024 * 1024, description="Bytes of frames that wait for Kafka; beyond it POSTs get 503."
    )
    heartbeat_s: float | None = Field(
        5.0,
        ge=0.1,
        le=60,
        description="How often every partition of coincide.detections gets a heartbeat, so that fusion can end what is "
        "going on in a silent area; a fraction of fusion's quiet_s; null: never.",
    )
    retry_after_s: int = Field(1, ge=1, le=3600, description="Retry-After of every 503, in seconds.")
    dead_letters_per_s: float = Field(
        100.0, ge=0, le=100_000, description="Most refused items written to coincide.dead-letters a second, on average."
    )
    graceful_shutdown_s: int = Field(
        15, ge=1, le=300, description="How long POSTs in work may take to finish after SIGTERM."
    )
