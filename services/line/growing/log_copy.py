"""LogCopy: every record of one log into another that has none, from where an attempt before was cut short.

How far that came is what the target has: it gets the records of a partition in their order, and from nobody else.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from services.backup.exact_logs import ExactLog
from services.backup.folder import BackupError, SavedPartition
from services.backup.record_files import ROWS_AT_ONCE, SavedRecord
from services.backup.topic_copies import records_up_to
from services.backup.topic_filling import FilledPartition, create_for, refuse_unless_empty
from services.common.log.declared_topic import Topic
from services.common.log.reader import LogReader
from services.common.log.records import TopicPartition
from services.common.topics.topic_names import TopicNames
from services.line.growing.growth_note import GrowthNote

TOLD_EVERY = 100_000  # records
Tell = Callable[[str], None]
"""Takes one line about how far it is."""


class LogCopy:
    """Copies `topics`; nobody writes to either log meanwhile. Its faults are BackupError and LogError."""

    def __init__(
        self, source: ExactLog, target: ExactLog, topics: Mapping[str, Topic], names: TopicNames, tell: Tell
    ) -> None:
        self._source, self._target, self._topics, self._names, self._tell = source, target, topics, names, tell

    def begin(self, folder: Path, source: str, target: str) -> GrowthNote:
        """Have the target ready, and note in the folder that the copy has begun, unless it had begun before.

        A `BackupError`: the target has records, and no copy of this log into it was cut short.
        """
        note = GrowthNote.read(folder)
        if note is not None and (note.source, note.target, note.topic_ids) == (source, target, self._topic_ids()):
            return note
        refuse_unless_empty(self._target.log, self._topics)
        with self._source.log.reader() as reader:
            counts = {name: len(reader.partitions_of(name)) for name in self._topics if reader.has(name)}
        create_for(self._target.log, self._topics, counts, self._names)
        note = GrowthNote(source, target, self._topic_ids())
        note.write(folder)
        return note

    def _topic_ids(self) -> dict[str, str]:
        with self._target.log.reader() as reader:
            return {name: str(reader.topic_id(name)) for name in sorted(self._topics) if reader.has(name)}

    def run(self) -> int:
        """Copy what the target does not have yet; return how many records were copied."""
        with self._source.log.reader(ROWS_AT_ONCE) as reader, self._target.log.reader() as there:
            return sum(self._copy_topic(name, reader, there) for name in sorted(self._topics) if reader.has(name))

    def _copy_topic(self, name: str, reader: LogReader, there: LogReader) -> int:
        partitions = reader.partitions_of(name)
        begins, ends, reached = reader.beginnings(partitions), reader.ends(partitions), there.ends(partitions)
        copied = sum(
            self._copy_partition(reader, there, each, SavedPartition(begins[each], ends[each], 0), reached[each])
            for each in map(TopicPartition._make, partitions)
        )
        self._tell(f"{name}: {copied} records copied, {len(partitions)} partitions as they were")
        return copied

    def _copy_partition(
        self, reader: LogReader, there: LogReader, partition: TopicPartition, extent: SavedPartition, reached: int
    ) -> int:
        place = FilledPartition(self._target, partition, self._topics[partition.topic], self._names, reached)
        counted = _Counted(self._left(reader, partition, extent, place), partition, self._tell)
        place.restore(extent, counted)
        found = there.ends([partition])[partition]
        if found != place.next:
            problem = f"partition {partition.partition} of {partition.topic} ends at offset {found}"
            raise BackupError(f"{problem} in the target, and not at {place.next}: somebody else writes to it")
        return counted.count

    def _left(
        self, reader: LogReader, partition: TopicPartition, extent: SavedPartition, place: FilledPartition
    ) -> Iterator[SavedRecord]:
        """Return the records that the target does not have."""
        begin = max(extent.begin, place.next) if place.is_kept else extent.begin
        reader.read_from({partition: min(begin, extent.end)})
        records = records_up_to(reader, partition, extent.end)
        skipped = 0 if place.is_kept else sum(1 for _ in islice(records, place.next))
        if begin > extent.end or (not place.is_kept and skipped < place.next):
            raise BackupError(f"{partition.topic} has more records in the target than here: somebody else wrote to it")
        yield from records


class _Counted:
    """Counts what passes, and says so now and then."""

    def __init__(self, records: Iterator[SavedRecord], partition: TopicPartition, tell: Tell) -> None:
        self._records, self._partition, self._tell = records, partition, tell
        self.count = 0

    def __iter__(self) -> Iterator[SavedRecord]:
        for each in self._records:
            self.count += 1
            if self.count % TOLD_EVERY == 0:
                self._tell(f"{self._partition.topic}, partition {self._partition.partition}: {self.count} records")
            yield each
