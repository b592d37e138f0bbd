"""Which partition a key goes to, remembered: Kafka's hash in Python takes as long as encoding the frame."""

from __future__ import annotations

from typing import Any

from kafka.partitioner.default import DefaultPartitioner


class RememberingPartitioner(DefaultPartitioner):  # type: ignore[misc]  # it has no types
    """Kafka's default for records with a key, worked out once for each of them; a topic's count of partitions is fixed.

    Keys are areas that sensors are registered in, so they are not many.
    """

    def __init__(self) -> None:
        self._partitions: dict[tuple[str, bytes], int] = {}

    def partition(
        self, topic: str, key: Any, serialized_key: bytes, value: Any, serialized_value: Any, cluster: Any
    ) -> int:
        """Return the partition of `serialized_key`."""
        known = self._partitions.get((topic, serialized_key))
        if known is None:
            known = super().partition(topic, key, serialized_key, value, serialized_value, cluster)
            self._partitions[topic, serialized_key] = known
        return known
