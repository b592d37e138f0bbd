"""Settings of the alerting service."""

from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from services.alerting.alerts.sensor_conditions import SensorLimits
from services.alerting.alerts.system_conditions import ConditionLimits
from services.alerting.store.expiry import Room
from services.common.settings import MOST_OPEN_PER_PEER, ComponentSettings, OpenPerPeer, Port, TrustedCertificates

DAY_S = 86_400.0

Seconds = Annotated[float, Field(gt=0, le=10 * 365 * DAY_S)]
MostBytes = Annotated[int, Field(ge=2**20, le=2**50)]


class AlertingSettings(ComponentSettings):
    """Every setting of alerting; each can be given in the file or as `COINCIDE_ALERTING_<FIELD>`."""

    PREFIX: ClassVar[str] = "COINCIDE_ALERTING_"

    port: Port = 8020
    kafka_group: str | None = Field(
        None,
        min_length=1,
        description="Consumer group under which offsets are shown to Kafka's tools. null: `topic_prefix` names it: "
        "coincide-alerting, unless that is another.",
    )
    kafka_timeout_s: Seconds = Field(
        5.0, description="Longest wait for Kafka to acknowledge a change of a query before the answer is 503."
    )
    kafka_silence_s: Seconds = Field(
        10.0, description="How long Kafka may stay silent before /readyz says so and changes of queries get 503."
    )
    queries_path: Path | None = Field(
        Path("config/queries.yaml"), description="Queries published when the queries topic is empty; null: none."
    )
    receivers_path: Path | None = Field(
        Path("config/receivers.yaml"), description="File that declares receivers of alerts; null: none."
    )
    receivers_may_be_private: bool = Field(
        False,
        description="Receivers set over REST may reach private addresses, and people through Apprise, as those of the "
        "file may.",
    )
    receivers_max: int = Field(50, ge=1, le=1000, description="Most receivers at a time, those of the file included.")
    silences_max: int = Field(1000, ge=1, le=100_000, description="Most silences at a time, past ones included.")
    deliver_within_s: Seconds = Field(
        DAY_S, description="For how long a delivery to a receiver is tried before it is given up."
    )
    outbox_max: int = Field(
        10_000, ge=1, le=10_000_000, description="Most deliveries that wait for one receiver; those beyond are dead."
    )
    line_stalled_s: Seconds | None = Field(
        75.0, description="A system alert fires if detections arrive and no batch ends for so long; null: none."
    )
    dead_letters_per_minute: int | None = Field(
        600, ge=1, le=1_000_000, description="A system alert fires if there are more dead letters a minute; null: none."
    )
    no_detections_s: Seconds | None = Field(
        DAY_S, description="A system alert fires if nothing was detected for so long, after something was; null: none."
    )
    sensor_silent_s: Seconds | None = Field(
        DAY_S,
        description="A system alert fires if nothing came from a sensor for so long, and 30 times as long as usual. "
        "A sensor with `expect_every_s` has its own time. null: only those are watched.",
    )
    sensor_late_share: float | None = Field(
        0.5,
        gt=0,
        le=1,
        description="A system alert fires if more than this share of a sensor's detections come too late; null: none.",
    )
    watches_drift: bool = Field(
        True, description="A system alert fires if the recent errors of a sensor no longer fit its template."
    )
    database_url: str = Field(
        "sqlite:///.local/alerting.sqlite3",
        repr=False,  # it may hold a password
        description="SQLAlchemy URL of the database: sqlite or postgresql.",
    )
    batch_records: int = Field(2000, ge=1, le=100_000, description="Most Kafka records stored in one transaction.")
    transactions_per_s: float = Field(
        25.0,
        ge=1,
        le=1_000,
        description="Most transactions a second, on average; what comes between two goes into one. With more a match "
        "reaches its listeners sooner, and each costs as much as 50 matches.",
    )
    matches_kept_s: Seconds = Field(
        90 * DAY_S,
        description="Matches, episodes and alerts are deleted this long after ingest received their last detection.",
    )
    matches_most_rows: int = Field(
        5_000_000, ge=1, le=10**10, description="Most matches kept; the oldest beyond are deleted before their time."
    )
    matches_most_bytes: MostBytes = Field(
        10 * 2**30,
        description="Most bytes of match records kept, as the newest thousand let expect; indexes take as much again.",
    )
    evidence_most_bytes: MostBytes = Field(
        10 * 2**30,
        description="Most bytes of evidence kept; the oldest beyond goes before its match does.",
    )
    episodes_most_bytes: MostBytes = Field(
        10 * 2**30, description="Most bytes of revisions of episodes kept; the oldest beyond go before their time."
    )
    alerts_most_bytes: MostBytes = Field(
        2**30, description="Most bytes of transitions of alerts kept; the oldest beyond go before their time."
    )
    dead_letters_most_bytes: MostBytes = Field(
        2**30, description="Most bytes of dead letters kept; the oldest beyond go before their time."
    )
    dead_letters_kept_s: Seconds = Field(
        30 * DAY_S, description="Dead letters are deleted this long after they entered their Kafka topic."
    )
    retention_every_s: Seconds = Field(60.0, description="Pause between two rounds of deleting what is too old.")
    retention_chunk_rows: int = Field(
        1000, ge=1, le=100_000, description="Most rows deleted in one transaction, so that storing never waits long."
    )
    page_items: int = Field(100, ge=1, le=1000, description="Items on a page when the caller names no limit.")
    page_items_max: int = Field(1000, ge=1, le=10_000, description="Most items that a caller may ask for on a page.")
    max_open_per_peer: OpenPerPeer = MOST_OPEN_PER_PEER
    list_timeout_s: float = Field(
        5.0, gt=0, le=60, description="Longest search for a page of a list; 422 beyond. Streamed lists take their time."
    )
    exports_max: int = Field(
        4,
        ge=1,
        le=100,
        description="Most lists streamed as NDJSON, CSV or Parquet at a time, half of them of one peer. One takes up "
        "to 100 MB.",
    )
    queries_max: int = Field(100, ge=1, le=10_000, description="Most queries at a time; not above what fusion allows.")
    live_readers_max: int = Field(
        200, ge=1, le=100_000, description="Most readers of the live stream at a time, half of them of one peer."
    )
    live_replays_max: int = Field(
        1,
        ge=1,
        le=20,
        description="Pages of missed rows, 500 each, read from the database for live readers at a time. The other "
        "readers wait for their turn, so that lists are answered meanwhile.",
    )
    live_queue_matches: int = Field(
        5000,
        ge=1,
        le=1_000_000,
        description="Matches and changes of episodes that may wait for one live reader before it is dropped.",
    )
    live_heartbeat_s: Seconds = Field(5.0, description="Pause between comments that keep a quiet live stream open.")
    live_send_timeout_s: Seconds = Field(
        30.0, description="How long a live reader may take to accept one piece before it is dropped."
    )

    history_url: str | None = Field(
        None,
        pattern=r"^https?://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(:\d{1,4}|:[1-5]\d{4})?$",
        description="The history process, as http://host:port: requests for /v1/history-runs, "
        "/v1/learning-runs and what-ifs are passed on to it. null: they are answered 503.",
    )
    history_timeout_s: Seconds = Field(
        30.0, description="How long the history process may take for one answer, or for one piece of a long one."
    )

    trusted_certificates: TrustedCertificates = None

    console_url: str | None = Field(
        "http://127.0.0.1:8000",
        pattern=r"^https?://[^/?#\s@*]+$",
        description="The console, as people reach it: / of alerting leads there. null: / is no page.",
    )

    @property
    def group(self) -> str:
        """The consumer group: the one that is set, or one for each prefix of topics."""
        return self.kafka_group or f"{self.topic_prefix.removesuffix('.')}-alerting"

    @property
    def kept_s(self) -> tuple[float, float]:
        """How long matches and dead letters are kept."""
        return self.matches_kept_s, self.dead_letters_kept_s

    @property
    def room(self) -> Room:
        """How much is kept at most, however young it is."""
        most_bytes = {
            "matches": self.matches_most_bytes,
            "evidence": self.evidence_most_bytes,
            "episode_revisions": self.episodes_most_bytes,
            "alert_transitions": self.alerts_most_bytes,
            "dead_letters": self.dead_letters_most_bytes,
        }
        return Room(most_bytes, self.matches_most_rows)

    @property
    def condition_limits(self) -> ConditionLimits:
        """From when on something is wrong with the system."""
        return ConditionLimits(self.line_stalled_s, self.dead_letters_per_minute, self.no_detections_s)

    @property
    def sensor_limits(self) -> SensorLimits:
        """From when on something is wrong with a sensor."""
        return SensorLimits(self.sensor_silent_s, self.sensor_late_share, self.watches_drift)

    @model_validator(mode="after")
    def _refuse_what_contradicts(self) -> Self:
        if self.page_items > self.page_items_max:
            raise ValueError(f"page_items is {self.page_items}: at most page_items_max, {self.page_items_max}")
        return self
