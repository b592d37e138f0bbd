"""A compacted topic of one partition: read whole, from its beginning to its present end, and followed from there.

Where the log was away for a while, a follower goes on from where it stood: to read 100,000 sensors again keeps a
process busy for ten seconds, when all of them begin again.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from services.common.log.follower_thread import FollowerThread
from services.common.log.reader import POLL_S, LogReader
from services.common.log.records import Record, TopicPartition

PROBE_S = 2.0
ANSWER_S = 3.0  # how long a log may take for an answer
PATIENCE_S = PROBE_S + ANSWER_S + POLL_S  # of a reader that polls, and then asks for an offset
#: A removal is compacted away a day after it was written, at the earliest: delete.retention.ms.
GOES_ON_WITHIN_S = 3600.0

Connect = Callable[[], LogReader]


def read_whole(connect: Connect, topic: str) -> Iterator[list[Record]]:
    """Yield all records, some at a time, and disconnect; it may raise what the reader raises."""
    with connect() as reader:
        yield from reader.whole(topic)


class TopicView(Protocol):
    """What somebody makes of a topic."""

    def replace(self, records: Iterable[list[Record]]) -> None:
        """Begin anew with all records that there are."""

    def apply(self, records: list[Record]) -> None:
        """Take what came since, or nothing; called about twice a second at least."""


class _Stand(NamedTuple):
    """How far a view has come, in which topic, and when, by two clocks: one stands still at times, the other jumps."""

    topic_id: uuid.UUID | None
    next_offset: int
    at_s: tuple[float, float]

    def has_all_ahead(self, topic_id: uuid.UUID | None, end: int) -> bool:
        """Whether all that has changed since stands in the topic with this id and end, from the next offset on."""
        away_s = max(now_s - then_s for now_s, then_s in zip(_clocks_s(), self.at_s, strict=True))
        is_same = topic_id is not None and topic_id == self.topic_id and self.next_offset <= end
        return is_same and away_s < GOES_ON_WITHIN_S


def _clocks_s() -> tuple[float, float]:
    return time.monotonic(), time.time()


class TopicFollower(FollowerThread[LogReader]):
    """Keeps a view equal to a topic, in a thread, and knows whether the log answers.

    After a fault it goes on from where it stood; or reads the topic whole again, where this is another topic, or a
    removal may have been compacted away unseen. `connect` returns a reader of any log; it may block or raise.
    """

    stop_timeout_s = PATIENCE_S

    def __init__(self, topic: str, view: TopicView, connect: Connect) -> None:
        super().__init__(f"{topic}-follower")
        self._partition = TopicPartition(topic, 0)
        self._view, self._connection = view, connect
        self._answered_s: float | None = None
        self._topic_id: uuid.UUID | None = None
        self._stand: _Stand | None = None

    @property
    def log_answers(self) -> bool:
        """Whether the log has answered a question in the last few seconds."""
        answered_s = self._answered_s
        return answered_s is not None and time.monotonic() - answered_s < PATIENCE_S

    def _connect(self) -> LogReader:
        return self._connection()

    def _begin(self, reader: LogReader) -> None:
        """Go on from where it stood, or begin anew."""
        reader.read_from({self._partition: None})
        end = reader.ends([self._partition])[self._partition]
        self._topic_id = reader.topic_id(self._partition.topic)
        if self._stand is not None and self._stand.has_all_ahead(self._topic_id, end):
            reader.read_from({self._partition: self._stand.next_offset})
        else:
            self._stand = None
            self._view.replace(reader.whole(self._partition.topic, self.stopping.is_set))
        self._answered_s = time.monotonic()

    def _take(self, reader: LogReader, records: list[Record]) -> None:
        self._stand = None  # of what a view has taken in part nobody can tell the rest
        self._view.apply(records)
        self._stand = _Stand(self._topic_id, reader.position(self._partition), _clocks_s())

    def _look(self, reader: LogReader) -> None:
        reader.ends([self._partition])
        self._answered_s = time.monotonic()

    def _look_every_s(self) -> float:
        return PROBE_S

    def _lose(self, error: Exception) -> None:
        self._answered_s = None
        super()._lose(error)
