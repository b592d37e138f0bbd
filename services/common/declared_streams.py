"""The declared streams: ``config/streams.yaml``, read by ingest and alerting."""

from pathlib import Path
from types import MappingProxyType
from typing import Any

from coincide import Stream
from services.common.settings import SettingsError, read_yaml

Streams = MappingProxyType[str, Stream]


def load_streams(path: Path) -> Streams:
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
    return MappingProxyType({str(name): _stream(path, str(name), fields) for name, fields in declared.items()})


def _stream(path: Path, name: str, fields: Any) -> Stream:
    try:
        return Stream(name, **(fields or {}))
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{path}: stream {name!r}: {error}") from error
