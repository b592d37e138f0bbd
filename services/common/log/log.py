"""Log: the seam between services and what keeps their records."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from services.common.log.declared_topic import Topic
from services.common.log.reader import LogReader
from services.common.log.records import NewRecord, RecordPosition

#: What a reader returns at once, if nobody says otherwise.
MOST_RECORDS, MOST_BYTES = 500, 16 * 2**20


class Log(Protocol):
    """Topics of records. Any thread may use it; each reader belongs to one thread at a time."""

    @property
    def name(self) -> str:
        """How a person calls it, at the beginning of a sentence or within."""

    @property
    def option(self) -> str:
        """By which option a command of ours is told of this log, with a space before it; Kafka needs none."""

    @property
    def problem(self) -> str | None:
        """Why nothing can be appended now, in one sentence for everybody; None: it can, as far as is known."""

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        """Append records in their order; the future is done once all are safe, or has a `LogError`. It never blocks.

        A thread waits by `result`, a coroutine by `asyncio.wrap_future`. Records that are appended together stand
        together in each partition where nobody else writes to it. Appends that wait share what makes them safe. Where
        some records are safe and of others nobody knows, the fault is a `PartlyAppendedError`.
        """

    def reader(
        self, most_records: int = MOST_RECORDS, most_bytes: int = MOST_BYTES, group: str | None = None
    ) -> LogReader:
        """Return a new reader, whose polls return so much at most, and one record at least; it may block.

        `group` is the name under which it shows how far it has read, in a log that shows this.
        """

    def create_topics(self, declared: Mapping[str, Topic]) -> list[str]:
        """Make the topics equal to those that are ``declared``; return one line for each change. Nothing is deleted.

        Raises `TopicConflictError`: a topic has another number of partitions.
        """

    def close(self) -> None:
        """Append what waits, and end; blocks for a bounded time."""
