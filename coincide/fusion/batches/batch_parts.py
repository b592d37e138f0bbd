"""BatchParts: what one micro-batch takes on, part by part; Spark bounds a batch by its number of records alone.

**The law.** Work is estimated in microseconds of a machine with two cores, with all that Spark and Kafka do for an
answer: so much for a byte of a record, for a template pair that had to be judged, and for an answer. The bytes tell how
many detections there are. The other two tell how many detections and queries they meet, which nobody knows before:
what a byte took in the part before, it is expected to take in the next one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from coincide.fusion.records.kafka_records import InputRecord

US_EACH_BYTE = 0.02  # a detection of 300 bytes takes 6 us
US_EACH_TEMPLATE_PAIR = 20.0  # 4 with 8 buckets each, 45 with 64
US_EACH_ANSWER = 100.0  # 35 of them in the core


def size_of(records: Iterable[InputRecord]) -> int:
    """Return the bytes of the records' values."""
    return sum(len(record.value or b"") for record in records)


def work_us(record_bytes: int, template_pairs: int, answers: int) -> float:
    """Return the estimated work of records that took this much."""
    return US_EACH_BYTE * record_bytes + US_EACH_TEMPLATE_PAIR * template_pairs + US_EACH_ANSWER * answers


@dataclass
class BatchParts:
    """Cuts the records of a batch into parts, each of which one push takes, and leaves the rest to the next batch.

    A record is never cut, and the records of a partition keep their order, so that neither changes an answer. Control
    records come first, then the partitions by how many bytes wait there: where one is flooded, the others are answered
    before it. The flooded one gets on all the same, though in every other batch only while the others have something:
    Spark writes the few answers of the others together with the many of the flood, so that they would wait for those.
    """

    most_part_bytes: int = 262_144
    most_part_us: float = 250_000.0
    most_us: float = 500_000.0
    most_left_bytes: int = 33_554_432  # with more left a batch goes on, however long it takes
    after_flood: bool = False  # whether the batch before took on a part of what it had to leave
    left: list[InputRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._done_us = 0.0
        self._us_each_byte = US_EACH_BYTE

    def cut(self, records: Iterable[InputRecord]) -> Iterator[Sequence[InputRecord]]:
        """Yield one part or more; say what each `took` before you ask for the next. What is not yielded is `left`."""
        others, flooded = _parted(records)
        is_held = self.after_flood and any(record.topic == "detections" for record in others)
        self.left = others if is_held else others + flooded
        yield self._part_from(0)
        while self.left and not self._is_enough():
            yield self._part_from(0)
        if is_held:
            self.left += flooded
        elif self.left and len(self.left) >= len(flooded):
            yield self._part_from(len(self.left) - len(flooded))
        self.after_flood = bool(self.left) and not is_held

    def took(self, part: Sequence[InputRecord], answers: int, template_pairs: int = 0) -> None:
        """Take note of how many matches, episodes and windows a part told, and how many template pairs were judged."""
        part_bytes = size_of(part)
        part_us = work_us(part_bytes, template_pairs, answers)
        self._done_us += part_us
        self._us_each_byte = max(US_EACH_BYTE, part_us / max(part_bytes, 1))

    def _is_enough(self) -> bool:
        return self._done_us >= self.most_us and size_of(self.left) <= self.most_left_bytes

    def _part_from(self, first: int) -> list[InputRecord]:
        """Take a part from what is left: all control records, and at least one record."""
        room = min(self.most_part_bytes, self.most_part_us / self._us_each_byte)
        part_bytes, stop = 0, first
        for record in self.left[first:]:
            part_bytes += size_of([record])
            if part_bytes > room and stop > first and self.left[stop - 1].topic == "detections":
                break
            stop += 1
        part = self.left[first:stop]
        del self.left[first:stop]
        return part


def _queue_of(record: InputRecord) -> tuple[bool, int]:
    return record.topic == "detections", record.partition


def _parted(records: Iterable[InputRecord]) -> tuple[list[InputRecord], list[InputRecord]]:
    """Return what goes first, in order, and the detections of the partition with the most bytes, by offset."""
    queues: dict[tuple[bool, int], list[InputRecord]] = {}
    for record in sorted(records, key=lambda each: each.offset):
        queues.setdefault(_queue_of(record), []).append(record)
    in_order = sorted(queues, key=lambda queue: (queue[0], size_of(queues[queue]), queue[1]))
    flooded = queues.pop(in_order.pop()) if in_order and in_order[-1][0] else []
    return [record for queue in in_order for record in queues[queue]], flooded
