"""A compacted topic of one partition, read whole: what it says from its beginning to its present end."""

from collections.abc import Callable, Iterator

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

POLL_MS = 500
ANSWER_TIMEOUT_MS = 3_000
LONGEST_ANSWER_S = (ANSWER_TIMEOUT_MS + POLL_MS) / 1000  # of a consumer that is polled, and then asked for an offset


def end_offset(consumer: KafkaConsumer, partition: TopicPartition) -> int:
    """Return the offset of the next record to come; raises KafkaError when Kafka does not answer within 3 s."""
    end: int = consumer.end_offsets([partition], timeout_ms=ANSWER_TIMEOUT_MS)[partition]
    return end


def poll(consumer: KafkaConsumer, partition: TopicPartition) -> list[ConsumerRecord]:
    """Return the next records, or none after half a second."""
    records: list[ConsumerRecord] = consumer.poll(POLL_MS).get(partition, [])
    return records


def records_so_far(
    consumer: KafkaConsumer, partition: TopicPartition, is_stopping: Callable[[], bool] = lambda: False
) -> Iterator[list[ConsumerRecord]]:
    """Yield all records, some at a time, until there is no more or `is_stopping`; it may raise `KafkaError`."""
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    end = end_offset(consumer, partition)
    while consumer.position(partition, timeout_ms=ANSWER_TIMEOUT_MS) < end and not is_stopping():
        records = poll(consumer, partition)
        if not records:
            end = end_offset(consumer, partition)  # raises when Kafka has gone, of which poll() says nothing
        yield records
