"""Settings of the fusion job: `config/fusion.yaml`, overridden field by field from the environment."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from services.common.settings import ComponentSettings, Port

MOST_SHARDS = 256


class FusionSettings(ComponentSettings):
    """Everything about the fusion job that may differ between two places where it runs."""

    PREFIX: ClassVar[str] = "COINCIDE_FUSION_"

    port: Port = 8030
    topic_prefix: str = Field("coincide.", description="What every topic's name begins with.")
    checkpoint_path: Path = Field(
        Path(".local/checkpoint"),
        description="Folder of the query's offsets and state; on a cluster, one that every worker sees.",
    )
    jars_path: Path = Field(Path(".local/jars/spark"), description="Folder of the jars of Spark's Kafka connector.")

    master: str = Field(
        "local[2]", description="Spark master: local[N], spark://host:port or another that Spark knows."
    )
    driver_host: str = Field("127.0.0.1", description="Address of the driver that its workers call.")
    driver_bind_address: str = Field("127.0.0.1", description="Address on which the driver listens.")
    driver_memory: str = Field("1g", pattern=r"^\d+[mg]$", description="Heap of the driver's Java process.")
    spark_conf: dict[str, str] = Field(
        default_factory=dict, description="Further Spark properties, set last (executor memory, cores, ...)."
    )

    shards: int = Field(
        1, ge=1, le=MOST_SHARDS, description="Independent parts of the state; as many cores as this can work at once."
    )
    max_offsets_per_trigger: int = Field(
        2_000, ge=1, description="Most records taken from one topic into one micro-batch; bounds a backlog."
    )
    max_buffered: int = Field(
        2_000_000, ge=1, description="Most detections one shard keeps; beyond it the oldest are evicted and counted."
    )
    max_cached_pairs: int = Field(
        262_144, ge=1, description="Template pairs whose offsets one query remembers in a shard, 41 bytes each."
    )
    max_matches_per_detection: int = Field(
        1_000, ge=1, description="Most matches of one query that one detection may complete; more suspend the query."
    )
    max_candidates_per_detection: int = Field(
        50_000,
        ge=1,
        description="Most candidates that one detection may complete for one query of more than two roles, before "
        "their joint probability is judged; more suspend the query.",
    )
    max_matches_per_s: int = Field(
        5_000,
        ge=1,
        description="Most matches of one query in one area within one second of received time; more suspend the query.",
    )
    max_query_s: float = Field(
        5.0,
        ge=1,
        description="Longest time that one query may take in one micro-batch. Beyond it its answers of that batch are "
        "dropped, and it is suspended.",
    )

    max_advisory_work: int = Field(
        50_000,
        ge=1,
        description="Most work on `occurred`, and as much on `chance_rate_hz`, of the matches that one new detection "
        "completes for one query, in bucket pairs of 20 ns; beyond it they are null. A whole frame may have ten times "
        "as much.",
    )

    quiet_s: float | None = Field(
        30.0,
        ge=1,
        description="An area silent for longer than this, by the heartbeats of its partition, has its watermark moved "
        "on by the time beyond it. Several times ingest's heartbeat_s; null: never, for loads of history.",
    )

    restart_delay_s: float = Field(1.0, gt=0, description="Wait before a failed query is started again; doubles.")
    restart_delay_max_s: float = Field(30.0, gt=0, description="Longest wait before a failed query is started again.")
    lock_wait_s: float = Field(
        15.0, ge=0, description="How long to wait for the lock of a job that was just killed on the same checkpoint."
    )
    stop_timeout_s: float = Field(
        10.0, gt=0, description="How long the running micro-batch may take to end on SIGTERM."
    )
    kafka_timeout_s: float = Field(10.0, gt=0, description="Longest wait for one answer of Kafka.")
    stale_after_s: float = Field(
        60.0, gt=0, description="Not ready when the query has shown no sign of life for so long."
    )
    lag_interval_s: float = Field(5.0, gt=0, description="How often the lag in records is measured.")

    def topic(self, name: str) -> str:
        """Return the full name of a topic: detections, queries, matches, episodes, dead-letters, status, deferrals."""
        return self.topic_prefix + name
