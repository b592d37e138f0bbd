"""Heartbeats: an empty frame to every partition every few seconds, so that fusion knows silence from standing still."""

import asyncio
from dataclasses import dataclass

import msgspec

from services.ingest.kafka.frames import VERSION
from services.ingest.kafka.publisher import KafkaPublisher, PublisherBusyError
from services.ingest.metrics import IngestMetrics
from services.ingest.stamping.intake import Clock, system_clock_us


@dataclass
class Heartbeats:
    """Beats every `interval_s` seconds; while one beat is not settled there is no other, so none pile up.

    A beat says what time it is, and with that, that ingest has been listening: POSTs that were answered have landed
    before it, or land within the publisher's bounded time after it. Several replicas may all beat.
    """

    publisher: KafkaPublisher
    metrics: IngestMetrics
    interval_s: float
    clock_us: Clock = system_clock_us

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            await asyncio.sleep(self.interval_s)
            await self.beat()

    async def beat(self) -> None:
        """Beat once; a beat that some partition did not get is counted, not repeated."""
        now_us = self.clock_us()
        beat = {"v": VERSION, "heartbeat": True, "received_at_us": now_us}
        try:
            landed = await self.publisher.publish_everywhere(msgspec.json.encode(beat), now_us)
        except PublisherBusyError:
            landed = False
        (self.metrics.heartbeats if landed else self.metrics.heartbeats_failed).inc()
