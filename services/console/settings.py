"""Settings of the console."""

from typing import Annotated, ClassVar

from pydantic import Field

from services.common.settings import ListeningSettings, Port, TrustedCertificates

LONGEST_MESSAGE_BYTES = 2**20  # that a page sends over its WebSocket

Seconds = Annotated[float, Field(gt=0, le=86_400)]
_URL = r"^https?://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(:\d{1,4}|:[1-5]\d{4}|:6[0-4]\d{3}|:65[0-4]\d{2})?(/[A-Za-z0-9._~-]+)*$"
ServiceUrl = Annotated[str, Field(pattern=_URL)]


class ConsoleSettings(ListeningSettings):
    """Every setting of the console; each can be given in the file or as `COINCIDE_CONSOLE_<FIELD>`."""

    PREFIX: ClassVar[str] = "COINCIDE_CONSOLE_"

    port: Port = 8000
    ingest_url: ServiceUrl = Field("http://127.0.0.1:8010", description="Ingest, as http://host:port.")
    alerting_url: ServiceUrl = Field("http://127.0.0.1:8020", description="Alerting, as http://host:port.")
    fusion_url: ServiceUrl | None = Field(
        "http://127.0.0.1:8030",
        description="The fusion job's /readyz and /metrics, as http://host:port; null: nobody looks.",
    )
    archive_url: ServiceUrl | None = Field(None, description="The same of the archive job, where there is one.")
    history_url: ServiceUrl | None = Field(None, description="The same of the history process, where there is one.")
    forwarding_url: ServiceUrl | None = Field(
        None, description="The same of forwarding, which a line in one process may do."
    )
    docs_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s\"<>]+$",
        description="Where the site that `make docs` builds is served: pages lead there; null: they only name it.",
    )
    trusted_certificates: TrustedCertificates = None
    answer_timeout_s: Seconds = Field(10.0, description="How long a service may take for one answer.")
    answer_max_bytes: int = Field(
        32 * 2**20,
        ge=2**16,
        le=2**30,
        description="Longest answer of a service; a longer one is an error.",
    )
    requests_max: int = Field(64, ge=1, le=10_000, description="Most requests to the services at a time; others wait.")
    sessions_max: int = Field(1000, ge=1, le=100_000, description="Most people signed in; the oldest give way.")
    session_s: float = Field(
        12 * 3600.0, ge=60, le=30 * 86_400, description="How long a person stays signed in without opening a page."
    )
    viewers_max: int = Field(
        200,
        ge=1,
        le=10_000,
        description="Most pages open at a time, half of them of one person; one more is answered 503, or 429. A page "
        "counts from when it is asked for.",
    )
    live_kept: int = Field(
        2000, ge=100, le=100_000, description="Live events that may wait for one page; the oldest beyond are left out."
    )
    look_every_s: Seconds = Field(1.0, description="Pause between two looks at what ingest took.")
    drawn_detections_max: int = Field(
        5000,
        ge=100,
        le=20_000,
        description="Most detections drawn at a time; beyond, a sample of them.",
    )
    drawn_matches_max: int = Field(
        2000, ge=10, le=5_000, description="Most matches, and most episodes, drawn at a time; beyond, the newest are."
    )
