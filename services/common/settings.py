"""Settings: a YAML file, overridden field by field from the environment, checked once at start; where to listen."""

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from services.common.problem import describe_errors


class SettingsError(Exception):
    """The settings cannot be used; the message is one sentence for the person who wrote them."""


class FrozenSettings(BaseModel):
    """What every settings model is: frozen, and with no field that nobody declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")


S = TypeVar("S", bound=FrozenSettings)


def load_settings(model: type[S], path: Path | None, environ: Mapping[str, str], prefix: str) -> S:
    """Return ``model`` filled from the YAML file at ``path``, then from ``environ``.

    Parameters
    ----------
    path
        A YAML mapping of field names to values; ``None`` takes every default.
    environ
        Variables that begin with ``prefix`` name a field in capitals (``COINCIDE_INGEST_PORT``); their
        text is read as a YAML scalar, so numbers, booleans and lists need no quoting of their own.

    Raises
    ------
    SettingsError
        The file cannot be read, a name is unknown, or a value is not allowed.
    """
    values = {**(_read_mapping(path) if path else {}), **_from_environment(environ, prefix)}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        origin = f"{path} or {prefix}*" if path else f"{prefix}*"
        raise SettingsError(f"{origin}: {describe_errors(error)}") from error


def read_yaml(path: Path) -> Any:
    """Return the YAML document at ``path``; a `SettingsError` says what is wrong with it."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: is not YAML ({' '.join(str(error).split())})") from error


def _read_mapping(path: Path) -> dict[str, Any]:
    document = read_yaml(path) or {}
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a mapping of settings, got {type(document).__name__}")
    return document


def _from_environment(environ: Mapping[str, str], prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix).lower(): _scalar(name, text)
        for name, text in environ.items()
        if name.startswith(prefix)
    }


def _scalar(name: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{name}: {text!r} cannot be read as a YAML value") from error
    # "::" is an address to its author and a mapping to YAML; a mapping is meant only where it has its braces
    return text if isinstance(value, dict) and not text.lstrip().startswith("{") else value


def refuse_open_bind(host: str, allow_unauthenticated_bind: bool) -> None:
    """Raise ValueError if ``host`` can be reached from other machines while nobody authenticates.

    ``allow_unauthenticated_bind`` is the operator's word that something else keeps strangers out (a container
    whose port is published on 127.0.0.1 only, say).
    """
    if allow_unauthenticated_bind or _is_loopback(host):
        return
    raise ValueError(
        f"host {host!r} can be reached from other machines and authentication is off: bind 127.0.0.1, "
        "or set allow_unauthenticated_bind if something else keeps strangers out"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
