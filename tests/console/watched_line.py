"""The line with what fusion tells of itself: the job's own HTTP server, readiness and metrics, without Spark."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from coincide.fusion.records.kafka_records import Output
from deploy.host.machine import free_ports
from services.common.access.component_access import ComponentAccess
from services.common.engine.core_metrics import StatusMetrics
from services.common.engine.fusion_settings import FusionSettings
from services.common.kafka.connection import KafkaConnection
from services.common.program.asgi_server import ServerThread
from spark_jobs.job.batch_metrics import BatchMetrics, Lag
from spark_jobs.job.job_server import job_server
from spark_jobs.job.restarts import Liveliness
from tests.console.line import Line

STALE_AFTER_S = 3600.0
NOWHERE = KafkaConnection(servers="127.0.0.1:1")
PARTITION = ("coincide.detections", 0)


class WatchedLine(Line):
    """A line whose fusion can be looked at, stop finishing batches, and be killed."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__(folder, **options)
        [self.ports["fusion"]] = free_ports(1)
        self._fusion: ServerThread | None = None
        self._processed = 0
        self._held: list[Sequence[tuple[Any, bytes | None, bytes | None]]] = []
        self.stalls = False
        self._ahead_s = 0.0

    def _clock_s(self) -> float:
        return time.monotonic() + self._ahead_s

    def start(self) -> None:
        self._make_metrics()
        super().start()
        self.database.metrics.kafka_up.set(1)
        self.begin_fusion()

    def _make_metrics(self) -> None:
        self.registry_of_fusion = CollectorRegistry()
        self.batches, self.status = BatchMetrics(self.registry_of_fusion), StatusMetrics()
        self.registry_of_fusion.register(self.status)
        self.lag, self.liveliness = Lag(self.registry_of_fusion), Liveliness(STALE_AFTER_S, self._clock_s)
        self.lag.processed({})

    def begin_fusion(self) -> None:
        """Serve what fusion tells, first or again."""
        settings = FusionSettings(port=self.ports["fusion"], kafka=NOWHERE, require_keys=self.needs_key)
        access = ComponentAccess("fusion", settings, CollectorRegistry(), publisher=self.keys)
        self._fusion = job_server(settings, access, self.registry_of_fusion, self.liveliness.why_not_ready)
        self._fusion.start()

    def end_fusion(self) -> None:
        """Serve it no longer."""
        if self._fusion is not None:
            self._fusion.stop()
            self._fusion = None

    def stop(self) -> None:
        self.end_fusion()
        super().stop()

    def push(self, records: Sequence[tuple[Any, bytes | None, bytes | None]]) -> None:
        self._held.append(records)
        if not self.stalls:
            self.finish()
        self._measure()

    def finish(self) -> None:
        """Finish a batch of everything that waits."""
        for records in self._held:
            super().push(records)
            self._processed += 1
        self._held.clear()
        self.batches.batches.inc()
        self.batches.seconds.observe(0.25)
        self.batches.finished.set_to_current_time()
        self.liveliness.saw()
        self.lag.processed({PARTITION[0]: {"0": self._processed}})
        self._measure()

    def _measure(self) -> None:
        self.lag.measure({PARTITION: 0}, {PARTITION: self._processed + len(self._held)})

    def _take(self, output: Output) -> None:
        super()._take(output)
        if output.status.key is not None:
            self.status.take(output.status.key, output.status.value)

    def stall(self, for_s: float) -> None:
        """Finish no batch from now on, and have finished the last one so long ago."""
        self.stalls = True
        self._ahead_s += for_s
        self.batches.finished.set(time.time() - for_s)

    def go_on(self) -> None:
        """Finish what waits, and each batch at once."""
        self.stalls = False
        self._loop.call_soon_threadsafe(self.finish)


@contextmanager
def watched_line(folder: Path, **options: Any) -> Iterator[WatchedLine]:
    """Run such a line until the block ends."""
    line = WatchedLine(folder, **options)
    line.start()
    try:
        yield line
    finally:
        line.stop()
