"""The settings of a line in one process: those of its components, with one address and one folder for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coincide.fusion.control.limits import Limits
from services.alerting.settings import AlertingSettings
from services.backup.database import database_beside
from services.common.engine.fusion_settings import FusionSettings
from services.common.settings import CONFIG_VARIABLE, S, SettingsError, load_settings, located
from services.common.shipped_config import SHIPPED_CONFIG
from services.console.settings import ConsoleSettings
from services.history.settings import ArchivingSettings, RunSettings
from services.ingest.settings import IngestSettings
from services.line.dispatch import COMPONENTS
from services.line.forwarding.forward_settings import LineOwnSettings
from services.line.past.past_settings import archiving_settings, run_settings

LOG = "log.sqlite3"
#: A commit to a file beside the log costs a millisecond.
TRANSACTIONS_PER_S = 250.0


@dataclass(frozen=True)
class LineSettings:
    """What each component is told, and where all of it is kept."""

    folder: Path
    config: Path
    url: str
    topics_path: Path
    ingest: IngestSettings
    alerting: AlertingSettings
    console: ConsoleSettings
    own: LineOwnSettings
    limits: Limits
    """Bounds of the engine, from the file and the variables of the fusion job."""
    runs: RunSettings
    archiving: ArchivingSettings

    @property
    def log_path(self) -> Path:
        """The file of the log."""
        return self.folder / LOG


def chosen_config(named: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the folder of settings: the one that is named, one of ours in this folder, or the shipped one.

    Raises `SettingsError`: the one that is named is no folder.
    """
    named = named or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    if named is not None:
        if not named.is_dir():
            raise SettingsError(f"--config: there is no folder {named}")
        return named
    here = Path("config")
    return here if any((here / each.name).exists() for each in SHIPPED_CONFIG.iterdir()) else SHIPPED_CONFIG


def line_settings(folder: Path, config: Path, address: tuple[str, int], environ: Mapping[str, str]) -> LineSettings:
    """Return the settings of files in `config`, then of `environ`; address and folder are the same for all.

    Raises `SettingsError`.
    """
    host, port = address
    environ = {**environ, CONFIG_VARIABLE: str(config)}
    own: dict[str, Any] = {"host": host, "port": port}

    def settings_of(model: type[S], name: str, **others: Any) -> S:
        return load_settings(model, Path("config", name), environ).model_copy(update={**own, **others})

    base = f"http://{'127.0.0.1' if host in {'0.0.0.0', '::'} else host}:{port}"  # noqa: S104 - is what it is called
    components = f"{base}{COMPONENTS}"
    line = load_settings(LineOwnSettings, Path("config/line.yaml"), environ)
    return LineSettings(
        folder,
        config,
        base,
        located(Path("config/topics.yaml"), environ),
        settings_of(IngestSettings, "ingest.yaml"),
        settings_of(
            AlertingSettings,
            "alerting.yaml",
            database_url=f"sqlite:///{database_beside(folder / LOG)}",
            console_url=base,
            history_url=f"{components}history",
            transactions_per_s=TRANSACTIONS_PER_S,
        ),
        settings_of(
            ConsoleSettings,
            "console.yaml",
            ingest_url=f"{components}ingest",
            alerting_url=f"{components}alerting",
            fusion_url=f"{components}fusion",
            forwarding_url=None if line.forward is None else f"{components}forwarding",
        ),
        line,
        settings_of(FusionSettings, "fusion.yaml").limits,
        run_settings(folder, environ),
        archiving_settings(environ),
    )
