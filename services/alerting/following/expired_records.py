"""Records that the log deleted before they were stored: offsets passed over in a topic that is not compacted."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter

from services.alerting.records.records import TOPICS
from services.common.log.records import Record, TopicPartition
from services.common.topics.topic_names import TopicNames


class ExpiredRecords:
    """Counts them from where reading starts; a partition that is read from its beginning counts from its first record.

    A rebuild that gives more than such a topic keeps, faster than it is stored, leaves some. So does an alerting that
    was away for longer than the topic keeps anything.
    """

    def __init__(self, starts: Mapping[TopicPartition, int | None], names: TopicNames) -> None:
        self._names = names
        self._next = {partition: start for partition, start in starts.items() if start is not None}

    def before(self, records: Iterable[Record]) -> Counter[str]:
        """Return how many were deleted before `records`, or among them, by topic."""
        counted: Counter[str] = Counter()
        for place, some in groupby(records, attrgetter("topic", "partition")):
            partition, offsets = TopicPartition(*place), [record.offset for record in some]
            self._next.setdefault(partition, offsets[0])
            counted[partition.topic] += self._passed_over(partition, offsets[-1] + 1, read=len(offsets))
        return +counted

    def up_to(self, positions: Mapping[TopicPartition, int]) -> Counter[str]:
        """Return how many were deleted before these offsets, which are to be read next, by topic."""
        counted: Counter[str] = Counter()
        for partition, offset in positions.items():
            counted[partition.topic] += self._passed_over(partition, offset)
        return +counted

    def _passed_over(self, partition: TopicPartition, offset: int, read: int = 0) -> int:
        """Go on to `offset`, and return how many records before it are neither `read` nor were counted before."""
        if self._names.short(partition.topic) not in TOPICS.without_holes():
            return 0
        passed = offset - self._next.get(partition, offset) - read
        self._next[partition] = offset
        return max(0, passed)
