"""Intake: one POST's items to verdicts: stamp, frame, publish; no HTTP in here."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from services.common.declared_streams import Streams
from services.ingest.http.parsing import Item
from services.ingest.kafka.dead_letter_topic import DeadLetters
from services.ingest.kafka.frames import Frame, FrameDraft
from services.ingest.kafka.publisher import Publisher
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.sensors import Template
from services.ingest.registry.snapshot import Registry
from services.ingest.stamping import verdicts
from services.ingest.stamping.posted import PostedDetection
from services.ingest.stamping.stamp import Detection, Stamper
from services.ingest.stamping.verdicts import Refused, Verdict

Clock = Callable[[], int]


def system_clock_us() -> int:
    """Microseconds since the epoch, UTC."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdicts of one POST, counted."""

    received_at_us: int
    verdicts: list[Verdict]
    accepted: int
    refused: int
    unacknowledged: int


class Intake:
    """Takes detections: what is refused goes to the dead letters, the rest to Kafka in frames."""

    def __init__(
        self,
        registry: Registry,
        streams: Streams,
        publisher: Publisher,
        dead_letters: DeadLetters,
        metrics: IngestMetrics,
        max_future_us: int,
        sigma_digits: int | None = None,
        clock_us: Clock = system_clock_us,
    ) -> None:
        self._registry = registry
        self._streams = streams
        self._publisher = publisher
        self._dead_letters = dead_letters
        self._metrics = metrics
        self._max_future_us = max_future_us
        self._sigma_digits = sigma_digits
        self._clock_us = clock_us

    async def take(self, items: Sequence[PostedDetection | Item]) -> Outcome:
        """Stamp and publish `items`; returns when Kafka has settled every frame, in bounded time.

        Raises
        ------
        PublisherBusyError
            Nothing was sent; refused items are neither counted nor dead-lettered, because all will come again.
        """
        received_at_us = self._clock_us()
        judged = self._judge(items, received_at_us)
        frames = [frame for draft in judged.drafts.values() for frame in draft.frames(received_at_us)]
        lost = await self._publish(frames, received_at_us, judged.verdicts)
        self._bury(judged.refusals, received_at_us)
        return self._counted(received_at_us, judged, lost)

    def _judge(self, items: Sequence[PostedDetection | Item], received_at_us: int) -> _Judged:
        latest_us = received_at_us + self._max_future_us
        stamper = Stamper(self._registry.snapshot, self._streams, latest_us, self._sigma_digits)
        judged = _Judged()
        for index, item in enumerate(items):
            try:
                if type(item) is Item:
                    raise item.refused
                judged.accept(index, *stamper.stamp(item))  # type: ignore[arg-type]  # no Item, so posted
            except Refused as why:
                judged.refuse(index, why, item)
        return judged

    async def _publish(self, frames: list[Frame], received_at_us: int, found: list[Verdict]) -> int:
        """Publish `frames`, correct the verdicts of what was not acknowledged and return how many those are."""
        if not frames:
            return 0
        acknowledged = await self._publisher.publish(frames, received_at_us)
        lost = [index for frame, safe in zip(frames, acknowledged, strict=True) if not safe for index in frame.indices]
        for index in lost:
            found[index] = verdicts.unacknowledged(index, found[index].id or "")
        arrived = [len(frame.value) for frame, safe in zip(frames, acknowledged, strict=True) if safe]
        self._metrics.frames.inc(len(arrived))
        self._metrics.frame_bytes.inc(sum(arrived))
        return len(lost)

    def _bury(self, refusals: list[tuple[Refused, PostedDetection | Item]], received_at_us: int) -> None:
        for why, item in refusals:
            self._metrics.refused[why.reason].inc()
            original = item.original if isinstance(item, Item) else msgspec.to_builtins(item)
            self._dead_letters.write(why, original, self._area_of(original), received_at_us)

    def _area_of(self, original: Any) -> str | None:
        sensor_id = original.get("sensor") if isinstance(original, dict) else None
        sensor = self._registry.snapshot.sensors.get(sensor_id) if isinstance(sensor_id, str) else None
        return sensor.area if sensor else None

    def _counted(self, received_at_us: int, judged: _Judged, lost: int) -> Outcome:
        refused = len(judged.refusals)
        accepted = len(judged.verdicts) - refused - lost
        self._metrics.accepted.inc(accepted)
        if lost:
            self._metrics.unacknowledged.inc(lost)
        return Outcome(received_at_us, judged.verdicts, accepted, refused, lost)


class _Judged:
    """The items of one POST, judged one by one: a verdict on each, frames drafted by area, and what was refused."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.drafts: dict[str, FrameDraft] = {}
        self.refusals: list[tuple[Refused, PostedDetection | Item]] = []

    def accept(self, index: int, area: str, template: Template, detection: Detection) -> None:
        draft = self.drafts.get(area)
        if draft is None:
            draft = self.drafts[area] = FrameDraft(area)
        draft.add(index, template, detection)
        self.verdicts.append(verdicts.accepted(index, detection.id))

    def refuse(self, index: int, why: Refused, item: PostedDetection | Item) -> None:
        self.verdicts.append(verdicts.refused(index, why))
        self.refusals.append((why, item))
