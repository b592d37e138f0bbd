"""A topic as it is declared, and how long it keeps its records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, ConfigDict, Field


class Topic(BaseModel):
    """One topic as declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    partitions: int = Field(ge=1, le=1024, description="number of partitions; fixed for the topic's life")
    replication: int = Field(default=1, ge=1, le=10, description="copies of each partition; 3 in production")
    configs: dict[str, str] = Field(default_factory=dict, description="Kafka topic settings, all as text")


class TopicConflictError(Exception):
    """A topic exists with another partition count; only a person can decide what to do about that."""


def refuse_other_partition_counts(existing: Mapping[str, int], declared: Mapping[str, Topic]) -> None:
    """Raise `TopicConflictError` where a topic has another number of partitions than is declared."""
    for name in declared.keys() & existing.keys():
        if existing[name] != declared[name].partitions:
            raise TopicConflictError(
                f"topic {name} has {existing[name]} partitions, config/topics.yaml says {declared[name].partitions}: "
                "a topic keeps its partition count for life"
            )


_POLICIES = ("delete", "compact", "compact,delete", "delete,compact")
#: Kafka compacts no segment that is still written to; so who follows a topic sees every record of it.
_COMPACTION_LAG_MS = 60_000
_DAY_MS = 86_400_000


@dataclass(frozen=True)
class Retention:
    """How long a topic keeps records, by the settings that it has in Kafka and with Kafka's defaults.

    Attributes
    ----------
    is_compacted : bool
        Of each key the newest record stays, and those before it go.
    most_ms, most_bytes : int or None
        Older records of a partition are deleted from its beginning on, and those beyond so many bytes. None: none is.
    tombstone_ms : int
        How long a key without a value stays, so that whoever reads the topic hears of the removal.
    lag_ms : int
        How old a record is at least when it is compacted away.
    most_record_bytes : int
        How large a record may be.
    """

    is_compacted: bool
    most_ms: int | None
    most_bytes: int | None
    tombstone_ms: int
    lag_ms: int
    most_record_bytes: int

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> Self:
        """Return what settings say; a ValueError says which one cannot be used."""
        policy = configs.get("cleanup.policy", "delete").replace(" ", "")
        if policy not in _POLICIES:
            raise ValueError(f"cleanup.policy is {policy!r}: allowed are {', '.join(_POLICIES)}")
        deletes = "delete" in policy
        return cls(
            is_compacted="compact" in policy,
            most_ms=_limit(configs, "retention.ms", 7 * _DAY_MS) if deletes else None,
            most_bytes=_limit(configs, "retention.bytes", -1) if deletes else None,
            tombstone_ms=_limit(configs, "delete.retention.ms", _DAY_MS) or 0,
            lag_ms=_limit(configs, "min.compaction.lag.ms", _COMPACTION_LAG_MS) or 0,
            most_record_bytes=_limit(configs, "max.message.bytes", 1_048_588) or 0,
        )


def _limit(configs: Mapping[str, str], name: str, default: int) -> int | None:
    """Return a setting; None where it is -1, which is no limit."""
    text = configs.get(name, str(default))
    try:
        number = int(text)
    except ValueError:
        number = -2
    if number < -1:
        raise ValueError(f"{name} is {text!r}: allowed are whole numbers from 0 on, and -1 for no limit")
    return None if number == -1 else number
