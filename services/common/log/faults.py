"""What a log cannot do, as one sentence for the person who can change it."""

from collections.abc import Iterable, Sequence

from services.common.log.records import RecordPosition, TopicPartition


class LogError(Exception):
    """A log cannot do what it was asked; the message is the sentence, and may be shown to everybody.

    `is_retriable`: the same may succeed later, without anybody changing what is asked. An append that failed so may
    still have been written.
    """

    def __init__(self, sentence: str, *, is_retriable: bool = False) -> None:
        super().__init__(sentence)
        self.is_retriable = is_retriable


class DamagedLogError(LogError):
    """What is stored is not what was written; whatever can still be read is no reason to go on."""


class PartlyAppendedError(LogError):
    """Some records of an append are safe, and others may not be there: `positions` has None for each of these."""

    def __init__(self, sentence: str, positions: Sequence[RecordPosition | None], *, is_retriable: bool) -> None:
        super().__init__(sentence, is_retriable=is_retriable)
        self.positions = positions


class UnusableRecordError(LogError):
    """A record that no log takes, or that its topic does not take; to append it again helps nobody."""


class NoSuchTopicError(LogError):
    """There is no topic of a name."""

    def __init__(self, topics: Iterable[str], remedy: str = "") -> None:
        super().__init__(f"there is no topic {', '.join(topics)}{remedy}")


class AnotherTopicError(LogError):
    """A topic was deleted and made anew while it was read: offsets say nothing about it any more."""

    def __init__(self, topics: Iterable[str]) -> None:
        said = f"the topic {', '.join(topics)} was deleted and made anew while it was read"
        super().__init__(said, is_retriable=True)


class OffsetGoneError(LogError):
    """The record to be read next was deleted, or was never there; nobody is given another one instead."""

    def __init__(self, partition: TopicPartition, offset: int, beginning: int, end: int) -> None:
        super().__init__(
            f"offset {offset} of {partition.topic}, partition {partition.partition}, is not there: "
            f"it has {beginning} up to, and without, {end}"
        )
        self.partition, self.offset, self.beginning, self.end = partition, offset, beginning, end
