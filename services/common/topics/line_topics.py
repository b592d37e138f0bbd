"""The topics that only a line in one process has: they are of its log, whatever `config/topics.yaml` declares."""

from collections.abc import Mapping

from services.common.engine.shard_state import SHARD_STATE, STATE_TOPIC
from services.common.log.declared_topic import Topic
from services.common.topics.topic_names import TopicNames

#: Short name of the topic that says how far a line has forwarded.
FORWARDED = "forwarded"

LINE_TOPICS: Mapping[str, Topic] = {
    SHARD_STATE: STATE_TOPIC,
    FORWARDED: Topic(partitions=1, configs={"cleanup.policy": "compact"}),
}


def topics_of_line(declared: Mapping[str, Topic], names: TopicNames) -> dict[str, Topic]:
    """Return all topics of a line, by their full names, of those that are ``declared``."""
    return {**declared, **{names.full(name): topic for name, topic in LINE_TOPICS.items()}}
