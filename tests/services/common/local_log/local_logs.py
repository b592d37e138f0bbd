"""A log in a file of a folder, whose clock stands still until a test moves it."""

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

from services.common.clock import system_clock_us
from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.records import TopicPartition
from tests.patience import until

YEAR_US = 366 * 86_400_000_000


class LocalLogs:
    """See `tests.services.common.log.contract.Logs`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.sqlite"
        self.ahead_us = 0
        self._names = 0

    @classmethod
    @contextmanager
    def in_memory(cls) -> Iterator[Self]:
        """Have one that waits for no disk, where the system has such a place."""
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
            yield cls(Path(folder))

    @property
    def address(self) -> Sequence[str]:
        return "local", str(self.path)

    def now_us(self) -> int:
        return system_clock_us() + self.ahead_us

    def open(self, **options: Any) -> LocalLog:
        usual: dict[str, Any] = {"clock_us": self.now_us, "tidied_every_s": 0.01, "busy_s": 60.0}
        return LocalLog(self.path, **{**usual, **options})

    def name(self) -> str:
        self._names += 1
        return f"topic-{self._names}"

    def expire(self, topic: str) -> None:
        """Let a year pass; a log has to be open, for it tidies."""
        later = LocalLog(self.path, clock_us=lambda: self.now_us() + YEAR_US, tidied_every_s=0.0)
        with closing(later) as log, log.reader() as reader:
            partitions = reader.partitions_of(topic)
            until(lambda: reader.beginnings(partitions) == reader.ends(partitions), every_s=0.01)

    def replace(self, topic: str) -> None:
        """Begin a new file."""
        self.path.unlink()
        with closing(self.open()) as log:
            log.create_topics({topic: Topic(partitions=1)})

    def rows(self, log: LocalLog, topic: str) -> dict[TopicPartition, list[tuple[int, bytes | None]]]:
        """Return offset and value of all that the topic has."""
        with log.reader() as reader:
            partitions = reader.partitions_of(topic)
            reader.read_from(dict.fromkeys(partitions))
            found = [each for some in reader.up_to(reader.ends(partitions)) for each in some]
        return {each: [(row.offset, row.value) for row in found if row[:2] == each] for each in partitions}

    @contextmanager
    def locked(self) -> Iterator[sqlite3.Connection]:
        """Keep the file to ourselves, as a process that is at work for long."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            if connection.in_transaction:
                connection.execute("ROLLBACK")
