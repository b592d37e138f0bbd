"""Acts: what people do about alerts, and rebuilds: published to Kafka and answered once the database holds it."""

import uuid
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from coincide.wire.rebuild_record import RebuildRecord
from services.alerting.alerts.controls import ACKNOWLEDGEMENT, AcknowledgementRecord
from services.alerting.following.projection import Progress
from services.alerting.records.records import TOPICS
from services.alerting.store.delivery_rows import DeliveryRecord, encode_delivery
from services.common.access.audit import AuditTrail
from services.common.access.caller import Caller
from services.common.clock import Clock, system_clock_us
from services.common.http.problem import try_again
from services.common.log.faults import LogError
from services.common.topics.record_publisher import RecordPublisher

_encode = msgspec.json.Encoder().encode


@dataclass
class Acts:
    """The one way in which people change what is said of alerts, and have fusion begin anew."""

    publisher: RecordPublisher
    progress: Progress
    audit: AuditTrail
    timeout_s: float
    now_us: Clock = system_clock_us

    async def acknowledge(self, who: Caller, alert: str, by: str, why: str) -> None:
        """Say that somebody has taken over an alert; a `Problem`, 503, where Kafka does not take it."""
        record = AcknowledgementRecord(1, alert, by, why, self.now_us())
        await self._publish(TOPICS.deliveries, ACKNOWLEDGEMENT + alert, _encode(record))
        await self._note(who, "alert.acknowledged", alert, None, record)

    async def send_again(self, who: Caller, settled: DeliveryRecord) -> None:
        """Let a delivery wait again."""
        again = {"state": "waiting", "at_us": self.now_us(), "attempts": 0, "reason": None}
        record = msgspec.structs.replace(settled, **again)
        await self._publish(TOPICS.deliveries, record.topic_key.decode(), encode_delivery(record))
        await self._note(who, "delivery.sent_again", record.key, None, record)

    async def ask_for_rebuild(self, who: Caller) -> RebuildRecord:
        """Let fusion begin anew, and return what is asked for with its id."""
        id_ = f"b-{uuid.uuid4().hex}"
        rebuild = RebuildRecord(id=id_, state="asked", asked_at_us=self.now_us(), by=who.name, why=who.why)
        await self._publish(TOPICS.status, rebuild.key.decode(), _encode(rebuild))
        await self._note(who, "rebuild.asked", id_, None, rebuild)
        return rebuild

    async def _note(self, who: Caller, action: str, subject: str, before: Any, after: Any) -> None:
        changes = msgspec.to_builtins(before), msgspec.to_builtins(after)
        await run_in_threadpool(self.audit.note, who, action, subject, *changes)

    async def _publish(self, topic: str, key: str, value: bytes | None) -> None:
        if reasons := self.progress.not_ready_because():
            raise try_again("nothing can be changed now: " + "; ".join(reasons))
        try:
            offset = await run_in_threadpool(self.publisher.publish, topic, key.encode(), value)
            await self.progress.wait_until_held(topic, offset, self.timeout_s)
        except (LogError, TimeoutError) as error:
            raise try_again(
                f"{self.publisher.log_name} did not acknowledge the change; it may still take effect"
            ) from error
