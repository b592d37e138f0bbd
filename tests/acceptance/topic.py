"""Look into Kafka itself."""

from __future__ import annotations

import json

from kafka import KafkaConsumer, TopicPartition

DETECTIONS = "coincide.detections"


def ids_in_detections(bootstrap: str, area: str) -> set[tuple[str, str]]:
    """Return (sensor, id) of every detection of an area that the topic holds now."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False)
    try:
        partitions = [TopicPartition(DETECTIONS, each) for each in consumer.partitions_for_topic(DETECTIONS)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        found: set[tuple[str, str]] = set()
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for records in consumer.poll(timeout_ms=1_000).values():
                frames = (json.loads(record.value) for record in records if record.key == area.encode())
                found |= {(each["sensor"], each["id"]) for frame in frames for each in frame["detections"]}
        return found
    finally:
        consumer.close()
