"""What Kafka cannot do, as a fault of the log."""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka.errors import (
    InvalidRecordError,
    InvalidTopicError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    UnknownTopicOrPartitionError,
)

from services.common.kafka.faults import MissingTopicError, in_words, refusal_of
from services.common.log.faults import LogError, NoSuchTopicError, UnusableRecordError
from services.common.topics.topic_names import DEFAULT_NAMES, TopicNames

_TOO_LARGE = MessageSizeTooLargeError, RecordListTooLargeError


def fault_of(error: Exception) -> LogError:
    """Return what an error of Kafka's client means for a log."""
    if isinstance(error, LogError):
        return error
    if (refusal := refusal_of(error)) is not None:
        return LogError(refusal)
    if isinstance(error, MissingTopicError):
        return NoSuchTopicError(error.topics, error.remedy)
    if isinstance(error, KafkaError | OSError):
        return LogError(f"Kafka does not do it: {in_words(error)}", is_retriable=getattr(error, "retriable", True))
    return LogError(f"Kafka's client fails: {error!r}")


def no_topic(topic: str, names: TopicNames = DEFAULT_NAMES) -> NoSuchTopicError:
    """Return the fault of a topic that Kafka does not have."""
    missing = MissingTopicError([topic], names)
    return NoSuchTopicError(missing.topics, missing.remedy)


def refusal_of_record(error: Exception, topic: str, size: int) -> LogError:
    """Return why a record was not written."""
    if isinstance(error, UnknownTopicOrPartitionError | InvalidTopicError):
        return NoSuchTopicError([topic])
    if isinstance(error, _TOO_LARGE):
        return UnusableRecordError(f"a record of {topic} has {size} bytes: the topic takes none so large")
    if isinstance(error, InvalidRecordError):
        return UnusableRecordError(f"{topic} does not take a record: one of a compacted topic needs a key")
    return fault_of(error)


@contextmanager
def telling() -> Iterator[None]:
    """Turn errors of Kafka's client into faults of the log."""
    try:
        yield
    except (KafkaError, OSError) as error:
        raise fault_of(error) from error
