"""Settings of the fusion job: `config/fusion.yaml`, overridden field by field from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spark_jobs.job.shards import MOST_SHARDS

ENVIRONMENT_PREFIX = "COINCIDE_FUSION_"


class SettingsError(Exception):
    """The settings cannot be used; the message is one sentence for the person who wrote them."""


class Settings(BaseModel):
    """Everything about the fusion job that may differ between two places where it runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kafka_bootstrap: str = Field("127.0.0.1:9092", description="Kafka brokers, host:port, separated by commas.")
    topic_prefix: str = Field("coincide.", description="What every topic's name begins with.")
    streams_path: Path = Field(Path("config/streams.yaml"), description="File that declares the streams.")
    checkpoint_path: Path = Field(
        Path(".local/checkpoint"),
        description="Folder of the query's offsets and state; on a cluster, one that every worker sees.",
    )
    jars_path: Path = Field(Path(".local/jars/spark"), description="Folder of the jars of Spark's Kafka connector.")

    host: str = Field("127.0.0.1", description="Address on which metrics and health are served.")
    port: int = Field(8030, ge=0, le=65535, description="Port on which metrics and health are served; 0: any free one.")

    master: str = Field(
        "local[2]", description="Spark master: local[N], spark://host:port or another that Spark knows."
    )
    driver_host: str = Field("127.0.0.1", description="Address of the driver that its workers call.")
    driver_bind_address: str = Field("127.0.0.1", description="Address on which the driver listens.")
    driver_memory: str = Field("1g", pattern=r"^\d+[mg]$", description="Heap of the driver's Java process.")
    spark_conf: dict[str, str] = Field(
        default_factory=dict, description="Further Spark properties, set last (executor memory, cores, ...)."
    )

    shards: int = Field(
        1, ge=1, le=MOST_SHARDS, description="Independent parts of the state; as many cores as this can work at once."
    )
    max_offsets_per_trigger: int = Field(
        2_000, ge=1, description="Most records taken from one topic into one micro-batch; bounds a backlog."
    )
    max_buffered: int = Field(
        2_000_000, ge=1, description="Most detections one shard keeps; beyond it the oldest are evicted and counted."
    )
    max_cached_pairs: int = Field(
        262_144, ge=1, description="Template pairs whose offsets one query remembers in a shard, 41 bytes each."
    )

    quiet_s: float | None = Field(
        30.0,
        ge=1,
        description="An area silent for longer than this, by the heartbeats of its partition, has its watermark moved "
        "on by the time beyond it. Several times ingest's heartbeat_s; null: never, for loads of history.",
    )

    restart_delay_s: float = Field(1.0, gt=0, description="Wait before a failed query is started again; doubles.")
    restart_delay_max_s: float = Field(30.0, gt=0, description="Longest wait before a failed query is started again.")
    lock_wait_s: float = Field(
        15.0, ge=0, description="How long to wait for the lock of a job that was just killed on the same checkpoint."
    )
    stop_timeout_s: float = Field(
        10.0, gt=0, description="How long the running micro-batch may take to end on SIGTERM."
    )
    kafka_timeout_s: float = Field(10.0, gt=0, description="Longest wait for one answer of Kafka.")
    stale_after_s: float = Field(
        60.0, gt=0, description="Not ready when the query has shown no sign of life for so long."
    )
    lag_interval_s: float = Field(5.0, gt=0, description="How often the lag in records is measured.")

    def topic(self, name: str) -> str:
        """Return the full name of a topic: detections, queries, matches, episodes, dead-letters, status."""
        return self.topic_prefix + name


def load_settings(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Return the settings of the YAML file at ``path``, with what ``environ`` says put over them.

    Parameters
    ----------
    path
        A YAML mapping of field names to values; None takes every default.
    environ
        ``COINCIDE_FUSION_<FIELD>`` replaces a field; its text is read as YAML.

    Raises
    ------
    SettingsError
        The file cannot be read, a name is unknown or a value is not allowed.
    """
    values = {**(_read_mapping(path) if path else {}), **_from_environment(environ)}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(f"{path or 'settings'} or {ENVIRONMENT_PREFIX}*: {_sentence(error)}") from error


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


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    return {
        name.removeprefix(ENVIRONMENT_PREFIX).lower(): _value(name, text)
        for name, text in environ.items()
        if name.startswith(ENVIRONMENT_PREFIX)
    }


def _value(name: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{name}: {text!r} cannot be read as a YAML value") from error


def _sentence(error: ValidationError) -> str:
    return "; ".join(_one(problem) for problem in error.errors())


def _one(problem: Any) -> str:
    field = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{field}: there is no such setting (known: {', '.join(Settings.model_fields)})"
    return f"{field} is {problem['input']!r}: {problem['msg']}"
