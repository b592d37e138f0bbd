"""Heartbeats: an empty frame to every partition every few seconds, so that fusion knows silence from standing still."""

from __future__ import annotations

import asyncio

import msgspec

from services.ingest.kafka.frames import VERSION
from services.ingest.kafka.publisher import FramePublisher, PublisherBusyError
from services.ingest.metrics import IngestMetrics
from services.ingest.stamping.intake import Clock, system_clock_us


class _Wire(msgspec.Struct):
    v: int
    heartbeat: bool
    received_at_us: int


_encode = msgspec.json.Encoder().encode


class Heartbeats:
    """Beats every `interval_s` seconds; while one beat is not settled there is no other, so none pile up.

    A beat says what time it is, and with that, that ingest has been listening: POSTs that were answered have landed
    before it, or land within the publisher's bounded time after it. Several replicas may all beat.
    """

    def __init__(
        self,
        publisher: FramePublisher,
        metrics: IngestMetrics,
        interval_s: float,
        clock_us: Clock = system_clock_us,
    ) -> None:
        self._publisher = publisher
        self._metrics = metrics
        self._interval_s = interval_s
        self._clock_us = clock_us

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            await asyncio.sleep(self._interval_s)
            await self.beat()

    async def beat(self) -> None:
        """Beat once; a beat that some partition did not get is counted, not repeated."""
        now_us = self._clock_us()
        try:
            landed = await self._publisher.publish_everywhere(_encode(_Wire(VERSION, True, now_us)), now_us)
        except PublisherBusyError:
            landed = False
        (self._metrics.heartbeats if landed else self._metrics.heartbeats_failed).inc()
