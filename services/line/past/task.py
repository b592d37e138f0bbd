"""What a second process is told, as one line of JSON on its standard input."""

from pathlib import Path
from typing import Any

from msgspec import Struct

from coincide.fusion.control.limits import Limits
from services.history.settings import ArchivingSettings, RunSettings


class Task(Struct, frozen=True):
    """Where the line keeps what, and which run is to be done; without one the archive alone is written."""

    log_path: str
    topic_prefix: str
    streams_path: str
    runs: dict[str, Any]  # of `RunSettings`
    archiving: dict[str, Any]  # of `ArchivingSettings`
    bounds: dict[str, Any] = {}  # of the engine's `Limits`, where they are not the usual ones
    request: dict[str, Any] | None = None

    @property
    def run_settings(self) -> RunSettings:
        """Where runs read and write, and their bounds."""
        return RunSettings.model_validate(self.runs)

    @property
    def archiving_settings(self) -> ArchivingSettings:
        """How the archive is written."""
        return ArchivingSettings.model_validate(self.archiving)

    @property
    def limits(self) -> Limits:
        """Bounds of the engine: a run as live has them."""
        return Limits(**self.bounds)

    @property
    def archive_path(self) -> Path:
        """The archive's folder."""
        path = self.run_settings.archive_path
        assert path is not None  # noqa: S101 - the line always has one
        return path
