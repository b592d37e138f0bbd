"""Offsets that were: a partition that never had a record is brought to begin at any offset.

Kafka gives offsets itself, from 0 on. So empty records are written up to the wanted one, and deleted. A hundred
thousand of them are one batch of a few kilobytes, which is made once and sent again and again; the broker counts them.
"""

from functools import cache
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import for_code
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder

_IN_BATCH = 100_000
_GZIP = 1
_ALL_REPLICAS = -1
_TIMEOUT_MS = 60_000
_OLDEST_MS = 0  # their time: no reason to keep the records that share their segment


def fill(admin: KafkaAdminClient, partition: TopicPartition, begin: int, end: int) -> int:
    """Write ``end - begin`` empty records behind those that are there, and return the greater; raises KafkaError."""
    # the client's own machinery: its producer would make each record anew, a hundred times as slowly
    run = admin._manager.run
    at = begin
    if at < end:
        [leader] = run(admin._async_get_leader_for_partitions, [partition])
    while at < end:
        count = min(_IN_BATCH, end - at)
        run(_write, admin, leader, partition, _batch(count))
        at += count
    return at


def delete_before(admin: KafkaAdminClient, partition: TopicPartition, offset: int) -> None:
    """Let the partition begin at ``offset``; raises KafkaError."""
    if offset > 0:
        admin.delete_records({partition: offset}, timeout_ms=_TIMEOUT_MS)


@cache
def _batch(count: int) -> bytes:
    batch = MemoryRecordsBuilder(magic=2, compression_type=_GZIP, batch_size=64 * _IN_BATCH)
    for _ in range(count):
        batch.append(timestamp=_OLDEST_MS, key=None, value=None, headers=[])
    batch.close()
    return bytes(batch.buffer())


async def _write(admin: KafkaAdminClient, leader: int, partition: TopicPartition, batch: bytes) -> None:
    topic = ProduceRequest.TopicProduceData
    of_partition = topic.PartitionProduceData(index=partition.partition, records=batch)
    request = ProduceRequest(
        transactional_id=None,
        acks=_ALL_REPLICAS,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[topic(name=partition.topic, partition_data=[of_partition])],
        min_version=3,
        max_version=9,
    )
    answer: Any = await admin._manager.send(request, node_id=leader, request_timeout_ms=_TIMEOUT_MS)
    [of_topic] = answer.responses
    [told] = of_topic.partition_responses
    if told.error_code:
        raise for_code(told.error_code)(f"{partition.topic} took no empty records: {told.error_message}")
