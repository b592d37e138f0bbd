"""The declared topics: ``config/topics.yaml``, the one place where partitions and retention are written."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.common.problem import describe_errors
from services.common.settings import SettingsError, read_yaml


class Topic(BaseModel):
    """One topic as declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    partitions: int = Field(ge=1, le=1024, description="number of partitions; fixed for the topic's life")
    replication: int = Field(default=1, ge=1, le=10, description="copies of each partition; 3 in production")
    configs: dict[str, str] = Field(default_factory=dict, description="Kafka topic settings, all as text")


def load_topics(path: Path) -> dict[str, Topic]:
    """Return the topics declared at ``path``, by name.

    Raises
    ------
    SettingsError
        The file cannot be read or a declaration is not valid.
    """
    document = read_yaml(path)
    declared = document.get("topics") if isinstance(document, dict) else None
    if not isinstance(declared, dict) or set(document) != {"topics"}:
        raise SettingsError(f"{path}: expected one mapping named 'topics'")
    try:
        return {name: Topic.model_validate(fields) for name, fields in declared.items()}
    except ValidationError as error:
        raise SettingsError(f"{path}: {describe_errors(error)}") from error
