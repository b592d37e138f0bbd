"""Kafka's place for keys and the audit trail in tests without Kafka: a list that a ring of keys follows at once."""

import json
from typing import Any

import msgspec

from services.common.access.access_keys import KEYS, KeyRing, key_in, new_key
from services.common.access.audit import AUDIT
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.faults import LogError
from services.common.topics.record_publisher import RecordPublisher
from services.common.topics.topic_names import DEFAULT_NAMES


class KeptRecords(RecordPublisher):
    """Keeps what it is given; `is_away` acknowledges nothing."""

    def __init__(self) -> None:
        super().__init__(KafkaLog(KafkaConnection(servers="nowhere:1")), 1.0, DEFAULT_NAMES)
        self.ring = KeyRing()
        self.topics: dict[str, list[tuple[bytes, bytes | None]]] = {KEYS: [], AUDIT: []}
        self.is_away = False

    def follow_with(self, ring: KeyRing) -> None:
        """Have `ring` hold what is written from now on."""
        self.ring = ring
        ring.replace({})

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        if self.is_away:
            raise LogError("not acknowledged")
        assert key is not None
        self.topics[topic].append((key, value))
        if topic == KEYS:
            self.ring.apply({key.decode(): None if value is None else key_in(value)})
        return len(self.topics[topic]) - 1

    def make(self, name: str, scopes: list[str], **fields: Any) -> str:
        """Make a key and return its text."""
        key, text = new_key({"name": name, "scopes": scopes, "requests_per_s": 1e4, **fields}, "a test", 1)
        self.ring.is_caught_up = True
        self.publish(KEYS, key.id.encode(), msgspec.json.encode(key))
        return text

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Every audited change, in order."""
        return [json.loads(value or b"") for _, value in self.topics[AUDIT]]
