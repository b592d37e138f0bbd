"""The settings of runs and of the archive as the files of settings have them, with the places of the line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import Field

from services.common.settings import FrozenSettings, load_settings, located, read_yaml
from services.history.settings import ArchivingSettings, RunSettings

S = TypeVar("S", bound=FrozenSettings)


class LineArchivingSettings(ArchivingSettings):
    """How the line writes its archive: seldom, since every run has it written first."""

    PREFIX: ClassVar[str] = "COINCIDE_ARCHIVE_"

    interval_s: float = Field(300.0, ge=0, description="How often detections are written.")


def run_settings(folder: Path, environ: Mapping[str, str]) -> RunSettings:
    """Return where runs read and write below a folder, and their bounds. Raises `SettingsError`."""
    places = {"archive_path": (folder / "archive").absolute(), "runs_path": (folder / "runs").absolute()}
    return _shared(RunSettings, "history.yaml", environ, **places)


def archiving_settings(environ: Mapping[str, str]) -> LineArchivingSettings:
    """Return how the archive is written. Raises `SettingsError`."""
    return _shared(LineArchivingSettings, "archive.yaml", environ)


def _shared(model: type[S], name: str, environ: Mapping[str, str], **places: Any) -> S:
    """Return what of a file and of the environment is not of Spark alone."""
    path = located(Path("config", name), environ)
    in_file = read_yaml(path) if path.exists() else None
    fields = in_file if isinstance(in_file, dict) else {}
    variables = {f"{model.PREFIX}{name.upper()}": name for name in model.model_fields}
    given = {variable: json.dumps(fields[name]) for variable, name in variables.items() if name in fields}
    own = {name: environ[name] for name in environ.keys() & variables.keys()}
    return load_settings(model, None, {**given, **own}).model_copy(update=places)
