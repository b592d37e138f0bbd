"""BatchParts: a micro-batch in parts of bounded work; Spark bounds a batch by its number of records alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spark_jobs.records.kafka_records import InputRecord

MOST_BYTES = 1_048_576  # of frames: some 3,000 detections, or 800 that bring 64 buckets each
MOST_MATCHES = 10_000  # about 10 MB of records


@dataclass
class BatchParts:
    """Cuts a batch into parts, each of which one push takes; how it is cut changes no answer.

    The work that a part makes grows with its detections and their templates, which its bytes tell, and with the
    queries and the detections that they meet, which the matches of the part before tell. A record is never cut.
    """

    most_bytes: int = MOST_BYTES
    most_matches: int = MOST_MATCHES

    def __post_init__(self) -> None:
        self._room = self.most_bytes

    def cut(self, records: Iterable[InputRecord]) -> Iterator[Sequence[InputRecord]]:
        """Yield one part or more: control records before all detections, those by (partition, offset)."""
        part: list[InputRecord] = []
        part_bytes = 0
        for record in sorted(records, key=lambda each: (each.topic == "detections", each.partition, each.offset)):
            size = len(record.value or b"")
            if part_bytes + size > self._room and any(each.topic == "detections" for each in part[-1:]):
                yield part
                part, part_bytes = [], 0
            part.append(record)
            part_bytes += size
        yield part

    def gave(self, part: Sequence[InputRecord], matches: int) -> None:
        """Take note of how many matches a part gave, so that the next gives about as many as it may at most."""
        part_bytes = sum(len(each.value or b"") for each in part)
        self._room = min(self.most_bytes, part_bytes * self.most_matches // max(matches, 1))
