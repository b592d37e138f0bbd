"""Losses: records that Kafka deleted before fusion had read them, counted, and written down as dead letters."""

from collections.abc import Callable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter

from coincide.wire.fields import NULL
from coincide.wire.output_record import OutputRecord
from coincide.wire.results.dead_letter import DeadLetter

EXPIRED_UNREAD = "expired_unread"


class Losses:
    """What was lost of each partition since the process was started; `write` takes dead letters, and may fail."""

    def __init__(self, registry: CollectorRegistry, write: Callable[[Sequence[OutputRecord]], None]) -> None:
        self._write = write
        self._ends: dict[tuple[str, int], int] = {}  # up to which offset a partition's losses were told
        self._records = Counter(
            "coincide_fusion_expired_records",
            "Records that Kafka deleted before fusion had read them.",
            ["topic", "partition"],
            registry=registry,
        )

    def tell(self, expired: Mapping[tuple[str, int], range]) -> None:
        """Count and write down, once, what has expired at these offsets, by topic and partition.

        Another process may write it down once more: the same loss has the same `dead_id`.
        """
        new = {place: range(max(lost.start, self._ends.get(place, 0)), lost.stop) for place, lost in expired.items()}
        new = {place: lost for place, lost in sorted(new.items()) if lost}
        if new:
            self._write([_letter(place, lost) for place, lost in new.items()])
        for place, lost in new.items():
            topic, partition = place
            self._records.labels(topic, partition).inc(len(lost))
            self._ends[place] = lost.stop


def _letter(place: tuple[str, int], lost: range) -> OutputRecord:
    topic, partition = place
    detail = (
        f"Kafka deleted {len(lost)} records of {topic}, partition {partition}, before fusion had read them: offsets "
        f"{lost.start} to {lost.stop - 1}"
    )
    return DeadLetter(reason=EXPIRED_UNREAD, detail=detail, record=NULL).to_record()
