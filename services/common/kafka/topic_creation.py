"""Topics of Kafka, made equal to those that are declared."""

from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from services.common.log.declared_topic import Topic, refuse_other_partition_counts


def create_topics(admin: KafkaAdminClient, declared: dict[str, Topic]) -> list[str]:
    """Make the cluster's topics equal to ``declared``; return one line for each change.

    Missing topics are created, differing topic settings are set. Nothing is ever deleted. Raises `TopicConflictError`:
    a topic has another number of partitions, so an area's place would change, and with it its order.
    """
    existing = {topic["name"]: topic for topic in admin.describe_topics()}
    refuse_other_partition_counts({name: len(each["partitions"]) for name, each in existing.items()}, declared)
    missing = {name: topic for name, topic in declared.items() if name not in existing}
    if missing:
        creations = {
            name: {"num_partitions": each.partitions, "replication_factor": each.replication, "configs": each.configs}
            for name, each in missing.items()
        }
        admin.create_topics(creations, wait_for_metadata=True)
    altered = _alter_configs(admin, {name: topic for name, topic in declared.items() if name in existing})
    return [f"created {name} ({topic.partitions} partitions)" for name, topic in missing.items()] + altered


def _alter_configs(admin: KafkaAdminClient, topics: dict[str, Topic]) -> list[str]:
    declared = {name: topic.configs for name, topic in topics.items() if topic.configs}
    if not declared:
        return []
    current = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in declared])["topic"]
    changes = {name: _differences(configs, current.get(name, {})) for name, configs in declared.items()}
    changes = {name: change for name, change in changes.items() if change}
    if changes:
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, name, change) for name, change in changes.items()]
        )
    return [f"set {name}: {key}={value}" for name, change in changes.items() for key, value in change.items()]


def _differences(declared: dict[str, str], current: dict[str, Any]) -> dict[str, str]:
    return {key: value for key, value in declared.items() if current.get(key, {}).get("value") != value}
