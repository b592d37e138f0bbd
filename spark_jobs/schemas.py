"""Schemas of the rows that cross Spark's boundary with Python."""

from __future__ import annotations

INPUT_COLUMNS = ("shard_key", "role", "partition", "offset", "key", "value")
"""Columns of an input row: grouping key, role of the topic ("detections" or "queries"), and the Kafka record."""

OUTPUT_SCHEMA = "topic string, key binary, value binary"
"""A record to be written, as Spark's Kafka sink takes it: `topic` is the full name."""

HEADER_SCHEMA = "version bigint, header binary"
"""The core's header, and a number that every batch of a shard raises by one."""

SLOT_KEY_SCHEMA = "slot int"
SLOT_SCHEMA = "bytes binary"
"""One slot of the core's journal."""
