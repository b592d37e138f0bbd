"""The declared streams: ``config/streams.yaml``, read by ingest, fusion and alerting."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coincide import Stream
from services.common.settings import SettingsError, read_declarations

Streams = Mapping[str, Stream]


def load_streams(path: Path) -> dict[str, Stream]:
    """Return the streams declared at ``path``, by name; a `SettingsError` says what is wrong with the file."""
    declared = read_declarations(path, "streams", dict)
    return {str(name): _stream(path, str(name), fields) for name, fields in declared.items()}


def _stream(path: Path, name: str, fields: Any) -> Stream:
    try:
        return Stream(name, **(fields or {}))
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{path}: stream {name!r}: {error}") from error
