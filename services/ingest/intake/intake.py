"""Intake: one POST's items to verdicts: stamp, frame, publish; no HTTP in here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from services.common.access.key_scopes import PostingRights
from services.common.clock import Clock, system_clock_us
from services.ingest.intake.dead_letter_topic import DeadLetters
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.frame import Frame
from services.ingest.publishing.publisher import Publisher
from services.ingest.registry.snapshot import Registry
from services.ingest.stamping.frames import FrameDraft
from services.ingest.stamping.parsing import Item
from services.ingest.stamping.posted import PostedDetection
from services.ingest.stamping.stamp import Stamped, Stamper
from services.ingest.verdicts import Outcome, Refused, Verdict


class _Judgement:
    """The items of one POST, judged one by one: a verdict on each, frames drafted by area, and what was refused."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.drafts: dict[str, FrameDraft] = {}
        self.refusals: list[tuple[Refused, PostedDetection | Item]] = []

    def accept(self, index: int, stamped: Stamped) -> None:
        stamp, at_us, identity, payload = stamped
        draft = self.drafts.get(stamp.area)
        if draft is None:
            draft = self.drafts[stamp.area] = FrameDraft(stamp.area)
        draft.add(index, stamp, at_us, identity, payload)
        self.verdicts.append(Verdict(index, "accepted", identity))

    def refuse(self, index: int, why: Refused, item: PostedDetection | Item) -> None:
        said = {name: getattr(why, name) for name in ("reason", "field", "value", "allowed", "detail")}
        self.verdicts.append(Verdict(index, "refused", **said, retryable=why.reason.retryable))
        self.refusals.append((why, item))


@dataclass
class Intake:
    """Takes detections: refused items go to the dead letters, the others to Kafka in frames.

    `on_frame` is called with each frame that Kafka acknowledged.
    """

    registry: Registry
    publisher: Publisher
    dead_letters: DeadLetters
    metrics: IngestMetrics
    max_future_us: int
    sigma_digits: int | None = None
    clock_us: Clock = system_clock_us
    on_frame: Callable[[Frame], object] = lambda _: None

    async def take(self, items: Sequence[PostedDetection | Item], rights: PostingRights | None = None) -> Outcome:
        """Stamp and publish `items`; returns when Kafka has settled every frame, in bounded time.

        `rights` are those of the key that was shown; None may post for all.

        Raises `PublisherBusyError`: nothing was sent; refused items are neither counted nor dead-lettered, because
        all will come again.
        """
        received_at_us = self.clock_us()
        judgement = self._judge(items, received_at_us, rights)
        frames = [frame for draft in judgement.drafts.values() for frame in draft.frames(received_at_us)]
        unacknowledged = await self._publish(frames, received_at_us, judgement.verdicts)
        self._bury(judgement.refusals, received_at_us)
        return self._counted(received_at_us, judgement, unacknowledged)

    def _judge(
        self, items: Sequence[PostedDetection | Item], received_at_us: int, rights: PostingRights | None
    ) -> _Judgement:
        latest_us = received_at_us + self.max_future_us
        stamper = Stamper(self.registry.snapshot, self.registry.streams, latest_us, self.sigma_digits, rights)
        judgement = _Judgement()
        for index, item in enumerate(items):
            try:
                if type(item) is Item:
                    raise item.refused
                judgement.accept(index, stamper.stamp(item))  # type: ignore[arg-type]  # no Item, so posted
            except Refused as why:
                judgement.refuse(index, why, item)
        return judgement

    async def _publish(self, frames: list[Frame], received_at_us: int, of_items: list[Verdict]) -> int:
        """Publish `frames`, correct the verdicts of unacknowledged detections and return how many there are."""
        if not frames:
            return 0
        acknowledged = await self.publisher.publish(frames, received_at_us)
        unacknowledged = 0
        for frame, safe in zip(frames, acknowledged, strict=True):
            if safe:
                self.metrics.frames.inc()
                self.metrics.frame_bytes.inc(len(frame.value))
                self.on_frame(frame)
                continue
            unacknowledged += len(frame.indices)
            for index in frame.indices:
                of_items[index] = Verdict(index, "unacknowledged", of_items[index].id, retryable=True)
        return unacknowledged

    def _bury(self, refusals: list[tuple[Refused, PostedDetection | Item]], received_at_us: int) -> None:
        for why, item in refusals:
            self.metrics.refused[why.reason].inc()
            original = item.original if isinstance(item, Item) else msgspec.to_builtins(item)
            self.dead_letters.write(why, original, self._area_of(original), received_at_us)

    def _area_of(self, original: Any) -> str | None:
        sensor_id = original.get("sensor") if isinstance(original, dict) else None
        stamps = self.registry.snapshot.stamps.get(sensor_id) if isinstance(sensor_id, str) else None
        return stamps[0].area if stamps else None

    def _counted(self, received_at_us: int, judgement: _Judgement, unacknowledged: int) -> Outcome:
        refused = len(judgement.refusals)
        accepted = len(judgement.verdicts) - refused - unacknowledged
        self.metrics.accepted.inc(accepted)
        if unacknowledged:
            self.metrics.unacknowledged.inc(unacknowledged)
        return Outcome(accepted, refused, received_at_us, judgement.verdicts, unacknowledged)
