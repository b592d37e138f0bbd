"""Settings: a YAML file, overridden field by field from the environment, checked once at start; declared streams."""

import ipaddress
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coincide import Stream

Port = Annotated[int, Field(ge=0, le=65535, description="Port to listen on; 0 takes a free one.")]


class SettingsError(Exception):
    """The settings cannot be used; the message is one sentence for the person who wrote them."""


def describe_errors(errors: Iterable[Mapping[str, Any]]) -> str:
    """Return one sentence naming each bad field, its value and what was allowed; pydantic's ``errors()`` has them."""
    return "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}, got {_shortened(item.get('input'))}"
        for item in errors
    )


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


class FrozenSettings(BaseModel):
    """A settings model: frozen, no unknown fields; `PREFIX` and a field in capitals name a variable."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    PREFIX: ClassVar[str]


class ComponentSettings(FrozenSettings):
    """What ingest, fusion and alerting all have: an address to listen on, Kafka, and the declared streams."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: Port
    allow_unauthenticated_bind: bool = Field(
        False, description="Listen on an address that other machines reach although nobody authenticates."
    )
    kafka_bootstrap: str = Field(
        "127.0.0.1:9092", min_length=1, description="Kafka brokers, host:port, separated by commas."
    )
    streams_path: Path = Field(Path("config/streams.yaml"), description="File that declares the streams.")

    @model_validator(mode="after")
    def _refuse_open_bind(self) -> Self:
        refuse_open_bind(self.host, self.allow_unauthenticated_bind)
        return self


S = TypeVar("S", bound=FrozenSettings)
D = TypeVar("D", dict[str, Any], list[Any])


def load_settings(model: type[S], path: Path | None, environ: Mapping[str, str]) -> S:
    """Return ``model`` filled from the YAML file at ``path``, if any, then from ``environ``.

    Variables that begin with the model's prefix replace a field; their text is read as a YAML value. Raises
    `SettingsError`: the file cannot be read, a name is unknown, or a value is not allowed.
    """
    values = {**(_read_mapping(path) if path else {}), **_from_environment(environ, model.PREFIX)}
    origin = f"{path} or {model.PREFIX}*" if path else f"{model.PREFIX}*"
    unknown = [str(name) for name in values if name not in model.model_fields]
    if unknown:
        known = ", ".join(model.model_fields)
        raise SettingsError(f"{origin}: {', '.join(unknown)}: there is no such setting (known: {known})")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise SettingsError(f"{origin}: {describe_errors(error.errors())}") from error


def read_yaml(path: Path) -> Any:
    """Return the YAML document at ``path``; a `SettingsError` says what is wrong with it."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: is not YAML ({' '.join(str(error).split())})") from error


def read_declarations(path: Path, name: str, kind: type[D]) -> D:
    """Return the only member, ``name``, of the YAML document at ``path``; a `SettingsError` says what is wrong."""
    document = read_yaml(path)
    declared = document.get(name) if isinstance(document, dict) else None
    if not isinstance(declared, kind) or set(document) != {name}:
        expected = "mapping" if kind is dict else "list"
        raise SettingsError(f"{path}: expected one {expected} named {name!r}")
    return declared


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


def refuse_open_bind(host: str, allow_unauthenticated_bind: bool) -> None:
    """Raise ValueError if other machines reach ``host`` while nobody authenticates, unless it is allowed."""
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


def _read_mapping(path: Path) -> dict[str, Any]:
    document = read_yaml(path) or {}
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a mapping of settings, got {type(document).__name__}")
    return document


def _from_environment(environ: Mapping[str, str], prefix: str) -> dict[str, Any]:
    named = {name: text for name, text in environ.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix).lower(): _value(name, text) for name, text in named.items()}


def _value(name: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{name}: {text!r} cannot be read as a YAML value") from error
    # "::" is an address to its author and a mapping to YAML; a mapping is meant only where it has its braces
    return text if isinstance(value, dict) and not text.lstrip().startswith("{") else value
