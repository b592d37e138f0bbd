"""Settings: a YAML file, overridden field by field from the environment, checked once at start; declared streams."""

import ipaddress
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from coincide import Stream
from services.common.fault_sentences import describe_errors
from services.common.kafka.connection import SECRETS, KafkaConnection
from services.common.shipped_config import SHIPPED_CONFIG
from services.common.topics.topic_names import DEFAULT_PREFIX, PREFIX_PATTERN, TopicNames

CONFIG_VARIABLE = "COINCIDE_CONFIG"
KAFKA_FILE = Path("config/kafka.yaml")
KAFKA_PREFIX = "COINCIDE_KAFKA_"

_HOST = re.compile(r"\*|[A-Za-z0-9_.-]+")
_ORIGIN = re.compile(r"https?://[^/?#\s@*]+")

Port = Annotated[int, Field(ge=0, le=65535, description="Port to listen on; 0 takes a free one.")]

MOST_OPEN_PER_PEER = 128

OpenPerPeer = Annotated[
    int,
    Field(
        ge=1,
        le=100_000,
        description="Requests that one peer has open at once, live streams too; one more is answered 429. A peer is an "
        "address, together with its key if it shows one. Raise it where one proxy speaks for many.",
    ),
]

TrustedCertificates = Annotated[
    Path | None,
    Field(
        description="PEM file of the only authorities, or certificates, by which it knows those that it calls over "
        "HTTPS. null: those that this machine trusts."
    ),
]


class SettingsError(Exception):
    """The settings cannot be used; the message is one sentence for the person who wrote them."""


class FrozenSettings(BaseModel):
    """A settings model: frozen, no unknown fields; `PREFIX` and a field in capitals name a variable."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    PREFIX: ClassVar[str]


class ListeningSettings(FrozenSettings):
    """What every component has that listens: an address, by which names and pages it is called, keys and TLS."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: Port
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least level that is logged.")
    allowed_hosts: tuple[str, ...] = Field(
        (),
        max_length=100,
        description="Names by which it is called, besides localhost and `host`; addresses always may. `*`: any name, "
        "and then nothing keeps a page whose name is bound anew to this address from calling.",
    )
    allowed_origins: tuple[str, ...] = Field(
        (), max_length=100, description="Origins, such as https://console.example, whose pages may call it."
    )
    require_keys: bool | None = Field(
        None,
        description="Whether every request needs a key. null: where other machines reach `host`; false: never, because "
        "something else keeps strangers out.",
    )
    send_timeout_s: float = Field(
        30.0,
        gt=0,
        le=3600,
        description="How long a reader may leave what waits for it, 64 KiB of an answer. Then it is cut off, so that "
        "it holds nothing that others need.",
    )
    tls_certificate: Path | None = Field(
        None, description="PEM file of its certificate and those above it; with it only HTTPS is spoken, TLS 1.2 on."
    )
    tls_key: Path | None = Field(None, description="PEM file of the certificate's private key, without a password.")

    @field_validator("allowed_hosts")
    @classmethod
    def _refuse_what_is_no_name(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise ValueError(f"{host!r} is no name: write it as console.example, without a port, or * for any")
        return hosts

    @field_validator("allowed_origins")
    @classmethod
    def _refuse_what_is_no_origin(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"{origin!r} is no origin: write it as https://console.example or http://localhost:3000"
                )
        return origins

    @model_validator(mode="after")
    def _refuse_half_of_tls(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key are given together, or neither is")
        return self

    @property
    def needs_key(self) -> bool:
        """Whether every request needs a key."""
        return not is_loopback(self.host) if self.require_keys is None else self.require_keys


class ComponentSettings(ListeningSettings):
    """What every component has that works on Kafka: how it is reached, and the declared streams."""

    kafka: KafkaConnection = Field(
        default_factory=KafkaConnection,
        description="The connection to Kafka, from `config/kafka.yaml`. A field here replaces that of the file, for "
        "this component alone.",
    )
    topic_prefix: str = Field(
        DEFAULT_PREFIX,
        pattern=PREFIX_PATTERN,
        description="The beginning of every topic's name; the same for all components of a system.",
    )
    streams_path: Path = Field(Path("config/streams.yaml"), description="File that declares the streams.")

    @property
    def topic_names(self) -> TopicNames:
        """The names that its topics have in Kafka."""
        return TopicNames(self.topic_prefix)


S = TypeVar("S", bound=FrozenSettings)
D = TypeVar("D", dict[str, Any], list[Any])


def load_settings(model: type[S], path: Path | None, environ: Mapping[str, str]) -> S:
    """Return ``model`` filled from the YAML file at ``path``, if any, then from ``environ``.

    Variables that begin with the model's prefix replace a field; their text is read as a YAML value. Raises
    `SettingsError`: the file cannot be read, a name is unknown, or a value is not allowed. Files of `config/`, this one
    and those that it names, are looked for in the folder `COINCIDE_CONFIG` first.
    """
    path = path and located(path, environ)
    values = {**(_read_mapping(path) if path else {}), **_from_environment(environ, model.PREFIX)}
    if "kafka" in model.model_fields:
        values["kafka"] = load_connection(environ, values.get("kafka"))
    origin = f"{path} or {model.PREFIX}*" if path else f"{model.PREFIX}*"
    unknown = [str(name) for name in values if name not in model.model_fields]
    if unknown:
        known = ", ".join(model.model_fields)
        raise SettingsError(f"{origin}: {', '.join(unknown)}: there is no such setting (known: {known})")
    try:
        settings = model.model_validate(values)
    except ValidationError as error:
        raise SettingsError(f"{origin}: {describe_errors(error.errors())}") from error
    named = {name: each for name in model.model_fields if isinstance(each := getattr(settings, name), Path)}
    return settings.model_copy(update={name: located(each, environ) for name, each in named.items()})


def load_connection(environ: Mapping[str, str], own: Any = None) -> KafkaConnection:
    """Return the connection to Kafka: of `config/kafka.yaml`, then ``COINCIDE_KAFKA_<FIELD>``, then a component's own.

    Raises `SettingsError`, which shows no secret.
    """
    if isinstance(own, KafkaConnection):
        return own
    file = located(KAFKA_FILE, environ)
    declared = _read_mapping(file) if file.exists() else {}
    values = {**declared, **_from_environment(environ, KAFKA_PREFIX, as_text=KafkaConnection.model_fields)}
    if not isinstance(own, dict | None):
        raise SettingsError(f"kafka is {own!r}: a mapping is allowed, such as {{servers: 127.0.0.1:9092}}")
    try:
        return KafkaConnection.model_validate({**values, **(own or {})})
    except ValidationError as error:
        said = "; ".join(
            describe_errors([each], shows_values=each["loc"][-1:] not in _SECRET_PLACES) for each in error.errors()
        )
        raise SettingsError(f"{file} or {KAFKA_PREFIX}*: {said}") from None


_SECRET_PLACES = {(name,) for name in SECRETS}


def located(path: Path, environ: Mapping[str, str]) -> Path:
    """Return the file of the same name in the folder `COINCIDE_CONFIG`, if ``path`` is one of `config/` and it has it.

    So what somebody has configured lies outside the tracked files, and what they have not is as shipped.
    """
    if path.parts[:1] != ("config",):
        return path
    folder = environ.get(CONFIG_VARIABLE)
    if folder and not Path(folder).is_dir():
        raise SettingsError(f"{CONFIG_VARIABLE}: {folder!r} is no folder")
    places = (Path(each, *path.parts[1:]) for each in (folder or "config", "config", SHIPPED_CONFIG))
    return next((each for each in places if each.exists()), path)


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


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read_mapping(path: Path) -> dict[str, Any]:
    document = read_yaml(path) or {}
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a mapping of settings, got {type(document).__name__}")
    return document


def _from_environment(environ: Mapping[str, str], prefix: str, as_text: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields that variables name; those ``as_text`` are no YAML, so that nobody quotes a password."""
    named = {name.removeprefix(prefix).lower(): name for name in environ if name.startswith(prefix)}
    return {field: environ[name] if field in as_text else _value(name, environ[name]) for field, name in named.items()}


def _value(name: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{name}: {text!r} cannot be read as a YAML value") from error
    # "::" is an address to its author and a mapping to YAML; a mapping is meant only where it has its braces
    return text if isinstance(value, dict) and not text.lstrip().startswith("{") else value
