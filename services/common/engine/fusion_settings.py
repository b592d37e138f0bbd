"""Settings of the fusion job: `config/fusion.yaml`, overridden field by field from the environment.

They stand here because the line in one process reads them too: one file bounds the engine, whoever runs it.
"""

from dataclasses import fields
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from coincide.fusion.control.limits import Limits
from services.common.settings import ComponentSettings, Port

MOST_SHARDS = 256


class SessionSettings(ComponentSettings):
    """What a session of Spark needs, and how long it waits for what."""

    APP: ClassVar[str]

    jars_path: Path = Field(Path(".local/jars/spark"), description="Folder of the jars of Spark's Kafka connector.")
    class_archive_path: Path | None = Field(
        None,
        description="Archive of loaded classes for the driver's Java, with which it starts a third faster; `make warm` "
        "writes one. Java does without one that does not fit.",
    )

    master: str | None = None
    driver_host: str = Field("127.0.0.1", description="Address of the driver that its workers call.")
    driver_bind_address: str = Field("127.0.0.1", description="Address on which the driver listens.")
    driver_memory: str = Field("1g", pattern=r"^\d+[mg]$", description="Heap of the driver's Java process.")
    spark_conf: dict[str, str] = Field(
        default_factory=dict, description="Further Spark properties, set last (executor memory, cores, ...)."
    )
    stop_timeout_s: float = Field(10.0, gt=0, description="How long Spark may take to end its work on SIGTERM.")
    kafka_timeout_s: float = Field(10.0, gt=0, description="Longest wait for one answer of Kafka.")

    @property
    def on_cluster(self) -> bool:
        """Whether the workers of a cluster do the work, and not the driver's Java process."""
        return self.master is not None and not self.master.startswith("local")

    @property
    def tasks(self) -> int | None:
        """How many tasks run at once at most; None: as many as the master has cores."""
        return None

    def topic(self, name: str) -> str:
        """Return the full name of a topic: detections, queries, matches, episodes, and all others that are declared."""
        return self.topic_names.full(name)


class SparkSettings(SessionSettings):
    """What every streaming job on Spark has beside its session."""

    master: str = Field(
        "local[2]", description="Spark master: local[N], spark://host:port or another that Spark knows."
    )
    max_offsets_per_trigger: int = Field(
        2_000, ge=1, description="Most records taken from one topic into one micro-batch; bounds a backlog."
    )

    restart_delay_s: float = Field(1.0, gt=0, description="Wait before a failed query is started again; doubles.")
    restart_delay_max_s: float = Field(5.0, gt=0, description="Longest wait before a failed query is started again.")
    lock_wait_s: float = Field(
        15.0, ge=0, description="How long to wait for the lock of a job that was just killed on the same checkpoint."
    )
    stale_after_s: float = Field(
        60.0, gt=0, description="Not ready when the query has shown no sign of life for so long."
    )

    @property
    def tasks(self) -> int:
        """How many tasks run at once at most."""
        return 1


class FusionSettings(SparkSettings):
    """Everything about the fusion job that may differ between two places where it runs."""

    PREFIX: ClassVar[str] = "COINCIDE_FUSION_"
    APP: ClassVar[str] = "coincide-fusion"

    port: Port = 8030
    stale_after_s: float = Field(
        8.0,
        gt=0,
        description="Not ready when the query has shown no sign of life for so long; where nothing happens it shows "
        "one every two seconds.",
    )
    checkpoint_path: Path = Field(
        Path(".local/checkpoint"),
        description="Folder of the query's offsets and state; on a cluster, one that every worker sees.",
    )

    shards: int = Field(
        1, ge=1, le=MOST_SHARDS, description="Independent parts of the state; as many cores as this can work at once."
    )
    auto_rebuild: bool = Field(
        False,
        description="Begin anew from the topics where the number of shards, a stream in the file of streams or the "
        "format of the state is another than that of the checkpoint; else the job waits until a person asks for it.",
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
        description="Longest processor time that one query may take in one part of a micro-batch. Beyond it its "
        "answers of that part are dropped, and it is suspended.",
    )
    max_push_s: float = Field(
        10.0,
        ge=1,
        description="Processor time that all queries together have in one part of a micro-batch. None takes "
        "more than half of what those before it have left, and each may take half a second.",
    )
    max_window_answers: int = Field(
        250_000,
        ge=1,
        description="Most answers that one query over readings gives in one part of a micro-batch; more suspend it.",
    )

    max_advisory_work: int = Field(
        50_000,
        ge=1,
        description="Most work on `occurred`, and as much on `chance_rate_hz` and on `clocks` in `occurred`, of the "
        "matches that one new detection completes for one query, in bucket pairs of 20 ns; beyond it they are null or "
        "absent. A whole frame may have ten times as much.",
    )

    quiet_s: float | None = Field(
        30.0,
        ge=1,
        description="An area silent for longer than this, by the heartbeats of its partition, has its watermark moved "
        "on by the time beyond it. Several times ingest's heartbeat_s; null: never, for loads of history.",
    )

    lag_interval_s: float = Field(5.0, gt=0, description="How often the lag in records is measured.")

    @property
    def tasks(self) -> int:
        """A task for each shard."""
        return self.shards

    @property
    def limits(self) -> Limits:
        """Bounds of the fusion cores."""
        same = self.model_dump(include={field.name for field in fields(Limits)})
        return Limits(**same, max_advisory_work_of_frame=10 * self.max_advisory_work)
