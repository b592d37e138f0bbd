"""A log as lists: what it holds, slowly and obviously."""

from collections.abc import Mapping, Sequence

from services.common.log.records import NewRecord, Record, RecordPosition, TopicPartition, size_of


class ListLog:
    """A list of records for each partition; one that is gone is None, and keeps its place."""

    def __init__(self, partitions: Mapping[str, int]) -> None:
        self.lists: dict[TopicPartition, list[Record | None]] = {
            TopicPartition(topic, number): [] for topic, count in partitions.items() for number in range(count)
        }

    def append(self, records: Sequence[NewRecord]) -> list[RecordPosition]:
        """Append records whose partition and timestamp are given; return where they stand."""
        positions = []
        for each in records:
            assert each.partition is not None
            assert each.timestamp_ms is not None
            of_partition = self.lists[TopicPartition(each.topic, each.partition)]
            position = RecordPosition(each.topic, each.partition, len(of_partition))
            of_partition.append(Record(*position, each.timestamp_ms, each.key, each.value, each.headers))
            positions.append(position)
        return positions

    def left(self, partition: TopicPartition, offset: int = 0) -> list[Record]:
        """Return what is left of a partition from an offset on."""
        return [each for each in self.lists[partition][offset:] if each is not None]

    def compact(self, before_ms: int, tombstones_go: bool) -> None:
        """Of what was written by then, leave the newest record of each key."""
        for of_partition in self.lists.values():
            old = 0
            while old < len(of_partition) and _is_old(of_partition[old], before_ms):
                old += 1
            newest = {each.key: each.offset for each in of_partition[:old] if each is not None}
            for each in of_partition[:old]:
                if each is None:
                    continue
                is_buried = tombstones_go and each.value is None
                if newest[each.key] != each.offset or is_buried:
                    of_partition[each.offset] = None

    def delete(self, before_ms: int | None, most_bytes: int | None) -> dict[TopicPartition, int]:
        """Delete from the beginning on what is older, or what is not needed to keep so many bytes.

        Return where each partition of which something was deleted begins now.
        """
        beginnings = {}
        for partition, of_partition in self.lists.items():
            for each in self.left(partition):
                rest = sum(map(size_of, self.left(partition))) - size_of(each)
                is_old = before_ms is not None and each.timestamp_ms < before_ms
                if not is_old and (most_bytes is None or rest < most_bytes):
                    break
                of_partition[each.offset] = None
                beginnings[partition] = each.offset + 1
        return beginnings


def _is_old(record: Record | None, before_ms: int) -> bool:
    return record is None or record.timestamp_ms <= before_ms
