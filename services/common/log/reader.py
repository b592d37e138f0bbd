"""LogReader: reads some partitions from where its host says; every wait is bounded, and silence a fault."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import ClassVar, Self

from services.common.log.faults import AnotherTopicError
from services.common.log.records import Record, TopicPartition

POLL_S = 0.5


class StoppedError(Exception):
    """Reading was stopped before its end: what was read in part must not be taken for the whole."""


class LogReader(ABC):
    """Reads from the offsets that its host names; every method may raise `LogError`."""

    #: What is raised where a topic is another than it was.
    replaced: ClassVar[type[Exception]] = AnotherTopicError

    def __init__(self) -> None:
        self._ids: dict[str, uuid.UUID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Read no more."""

    @abstractmethod
    def has(self, topic: str) -> bool:
        """Return whether there is such a topic."""

    @abstractmethod
    def partitions_of(self, *topics: str) -> list[TopicPartition]:
        """Return the partitions of topics; `NoSuchTopicError` where one is not there."""

    @abstractmethod
    def topic_id(self, topic: str) -> uuid.UUID | None:
        """Return what tells a topic from one of the same name that was made after it was deleted, where that is known.

        Whoever keeps offsets keeps it beside them.
        """

    @abstractmethod
    def beginnings(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset of the first record that each may still have."""

    @abstractmethod
    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each."""

    @abstractmethod
    def written_since(self, partitions: Iterable[TopicPartition], at_ms: int) -> dict[TopicPartition, int]:
        """Return the offset of the first record that was written then or later, of each partition that has one.

        That is so where records stand in the order of their times.
        """

    @abstractmethod
    def read_from(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions, and no others, from these offsets on; None is the beginning."""

    @abstractmethod
    def position(self, partition: TopicPartition) -> int:
        """Return the offset to be read next."""

    @abstractmethod
    def poll(self, wait_s: float = POLL_S) -> list[Record]:
        """Return the next records; waits up to `wait_s` when there are none, and no longer than for the first.

        Those of a partition are in their order. Raises `OffsetGoneError`, at every poll until `read_from` says another
        offset.
        """

    def stop_waiting(self) -> None:  # noqa: B027 - not every log can be woken
        """Let a poll that waits, and every later one, return at once, where the log can do so; any thread may ask."""

    @abstractmethod
    def topics_read(self) -> set[str]:
        """Return the topics of `read_from`."""

    def show(self, positions: Mapping[TopicPartition, int]) -> None:  # noqa: B027 - not every log has a place for it
        """Show to an operator's tools, where the log has such, how far the reader's group has come.

        It does not wait, and a failure does not matter. Whoever needs offsets keeps them.
        """

    def was_shown(self, partitions: Iterable[TopicPartition]) -> bool:  # noqa: ARG002
        """Return whether the log remembers that the group read some of these; False where it keeps no such memory."""
        return False

    def has_read(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Return whether all before these offsets was read."""
        return all(self.position(each) >= end for each, end in ends.items())

    def up_to(
        self,
        ends: Mapping[TopicPartition, int],
        is_stopping: Callable[[], bool] = lambda: False,
        wait_s: float = POLL_S,
    ) -> Iterator[list[Record]]:
        """Yield what each poll brings, until all before `ends` was read; some of the last may stand behind them.

        Raises `StoppedError`, where `is_stopping` says so before that.
        """
        while not self.has_read(ends):
            if is_stopping():
                raise StoppedError
            records = self.poll(wait_s)
            if not records:  # of a log that has gone, poll may say nothing
                self._refuse_shorter(ends)
            yield records

    def between(
        self, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> Iterator[list[Record]]:
        """Yield what each poll brings from `starts` up to `ends`, not included; what has its end is read no more."""
        left = {each: start for each, start in starts.items() if start < ends[each]}
        self.read_from(left)
        while left:
            records = self.poll()
            if not records:
                self._refuse_shorter({each: ends[each] for each in left})
            yield [each for each in records if each.offset < ends[TopicPartition(each.topic, each.partition)]]
            now = {each: self.position(each) for each in left}
            if any(now[each] >= ends[each] for each in left):
                left = {each: at for each, at in now.items() if at < ends[each]}
                self.read_from(left)

    def whole(self, topic: str, is_stopping: Callable[[], bool] = lambda: False) -> Iterator[list[Record]]:
        """Yield a topic of one partition from its beginning to its present end; see `up_to`."""
        partition = TopicPartition(topic, 0)
        self.read_from({partition: None})
        yield from self.up_to(self.ends([partition]), is_stopping)

    def refuse_replaced(self) -> None:
        """Raise `AnotherTopicError` if a topic that is read is another than when this was asked first."""
        for topic in self.topics_read():
            topic_id = self.topic_id(topic)
            if topic_id is not None and self._ids.setdefault(topic, topic_id) != topic_id:
                raise self.replaced([topic])

    def _refuse_shorter(self, ends: Mapping[TopicPartition, int]) -> None:
        now = self.ends(ends)
        if shorter := [each.topic for each, end in ends.items() if now[each] < end]:
            raise self.replaced(shorter)
