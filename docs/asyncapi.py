"""The AsyncAPI document: every topic of Kafka and the live stream of alerting, from their contracts."""

import json
from pathlib import Path
from typing import Any

from services.common.log.declared_topic import Topic
from services.common.topics.topic_names import DEFAULT_NAMES
from services.common.topics.topics_file import load_topics

ROOT = Path(__file__).parent.parent
OPENAPI = "alerting.openapi.json#/components/schemas/"
SUPERSEDED = {
    "type": "object",
    "description": "A match is taken back: a larger one of its query follows. It may name a match that was never sent.",
    "properties": {"id": {"type": "string"}, "superseded_by": {"type": "string"}},
    "required": ["id", "superseded_by"],
}
#: By the type of the event.
LIVE = {
    "match": {"$ref": f"{OPENAPI}Match"},
    "superseded": SUPERSEDED,
    "episode": {"$ref": f"{OPENAPI}Episode"},
    "episode_retracted": {"$ref": f"{OPENAPI}Episode"},
    "alert": {"$ref": f"{OPENAPI}Alert"},
}


def asyncapi() -> dict[str, Any]:
    """Return the document; it refers to the contracts beside it."""
    topics = load_topics(ROOT / "config/topics.yaml")
    channels = {DEFAULT_NAMES.short(name): _topic_channel(name, topic) for name, topic in topics.items()}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Coincide",
            "version": "1",
            "description": "Topics of Kafka, here with the prefix as shipped (topic_prefix), and the live stream of "
            "alerting. Values are JSON in UTF-8.",
        },
        "defaultContentType": "application/json",
        "channels": {**channels, "live": _live_channel()},
    }


def _topic_channel(name: str, topic: Topic) -> dict[str, Any]:
    short = DEFAULT_NAMES.short(name)
    file = f"{short}.schema.json"
    schema = json.loads((ROOT / "docs/contracts" / file).read_text(encoding="utf-8"))
    return {
        "address": name,
        "title": schema["title"],
        "description": schema["description"],
        "messages": {short: {"payload": {"$ref": file}}},
        "bindings": {"kafka": {"topic": name, "partitions": topic.partitions, "bindingVersion": "0.5.0"}},
    }


def _live_channel() -> dict[str, Any]:
    return {
        "address": "/v1/live",
        "title": "Live stream",
        "description": "Server-sent events of GET /v1/live at alerting; the type of an event is the message's name.",
        "messages": {name: {"payload": payload} for name, payload in LIVE.items()},
    }
