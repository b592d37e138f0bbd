"""Settings of runs over history and of the archive, wherever they run."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from services.common.settings import FrozenSettings


class RunSettings(FrozenSettings):
    """Where runs read and write, and their bounds."""

    PREFIX: ClassVar[str] = "COINCIDE_HISTORY_"

    archive_path: Path | None = Field(None, description="Folder of the archive; null: runs can read the topic only.")
    runs_path: Path = Field(Path(".local/runs"), description="Folder of the results, one folder for each run.")
    max_detections: int = Field(
        5_000_000,
        ge=1,
        description="Most detections of a complete run in memory at once, about 500 bytes each. A run of any length "
        "reads some 400,000 at a time; more only where a day's files are not merged yet, or a window is very long.",
    )
    max_matches: int = Field(1_000_000, ge=1, description="Most matches that a run writes; beyond it the run ends.")
    max_counted: int = Field(
        20_000_000,
        ge=1,
        description="Most matches that the curve of a run counts, 40 bytes each; beyond it the run ends.",
    )
    processes: int = Field(
        2,
        ge=1,
        le=64,
        description="Processes in which a complete run without a master works at most; each has its detections in "
        "memory.",
    )
    runs_kept: int = Field(100, ge=1, description="Most runs that are kept; beyond it the oldest are deleted.")
    runs_kept_mb: float = Field(
        10_000,
        gt=0,
        description="Most megabytes of the runs that are kept, about one for 1,000 matches; beyond it the oldest "
        "are deleted, but never the newest.",
    )


class ArchivingSettings(FrozenSettings):
    """How an archive is written."""

    PREFIX: ClassVar[str] = "COINCIDE_ARCHIVE_"

    interval_s: float = Field(
        30.0, ge=0, description="How often detections are written. A longer interval makes fewer and larger files."
    )
    area_hashes: int = Field(
        16, ge=1, le=4_096, description="Into how many folders the areas of a day are parted; fixed for its life."
    )
    allow_data_loss: bool = Field(
        False,
        description="Go on where the log has deleted detections before they were archived; else the job says so.",
    )
