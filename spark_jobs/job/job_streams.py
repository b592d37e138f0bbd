"""The declared streams: `config/streams.yaml`, as the fusion job reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coincide import Stream
from spark_jobs.settings import SettingsError, read_yaml


def load_streams(path: Path) -> dict[str, Stream]:
    """Return the streams declared at ``path``, by name.

    Raises
    ------
    SettingsError
        The file cannot be read or a declaration is not valid.
    """
    document = read_yaml(path)
    declared = document.get("streams") if isinstance(document, dict) else None
    if not isinstance(declared, dict) or set(document) != {"streams"}:
        raise SettingsError(f"{path}: expected one mapping named 'streams'")
    return {str(name): _stream(path, str(name), fields) for name, fields in declared.items()}


def _stream(path: Path, name: str, fields: Any) -> Stream:
    try:
        return Stream(name, **(fields or {}))
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{path}: stream {name!r}: {error}") from error
