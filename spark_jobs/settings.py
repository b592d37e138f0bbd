"""Settings of the other jobs: `config/archive.yaml`, `config/history.yaml`, overridden from the environment."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from services.common.engine.fusion_settings import SessionSettings, SparkSettings
from services.common.settings import Port
from services.history.settings import ArchivingSettings, RunSettings


class ArchiveSettings(SparkSettings, ArchivingSettings):
    """Everything about the archive job that may differ between two places where it runs."""

    PREFIX: ClassVar[str] = "COINCIDE_ARCHIVE_"
    APP: ClassVar[str] = "coincide-archive"

    port: Port = 8040
    path: Path | None = Field(
        None, description="Folder of the archive; on a cluster, one that every worker sees. null: there is no archive."
    )


class HistorySettings(SessionSettings, RunSettings):
    """Everything about runs over history that may differ between two places where they are done."""

    PREFIX: ClassVar[str] = "COINCIDE_HISTORY_"
    APP: ClassVar[str] = "coincide-history"

    port: Port = 8050
    master: str | None = Field(
        None,
        description="Spark master that does complete runs which take longer than two seconds, such as "
        "spark://host:port; null: `processes` of this machine do.",
    )
    fusion_config: Path = Field(
        Path("config/fusion.yaml"), description="The fusion job's settings: a run as live has its limits."
    )
