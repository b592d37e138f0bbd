"""What the tests of ingest share: a registry, a publisher that keeps what it is given, an application around them."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from coincide import Histogram, Stream
from services.common.access.audit import AuditTrail
from services.common.clock import Clock
from services.ingest.app import create_app
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.frame import Frame
from services.ingest.publishing.publisher import Publisher, PublisherBusyError
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.snapshot import Registry
from services.ingest.settings import IngestSettings
from tests.reference.frames import rows_of
from tests.services.kept_records import KeptRecords

NOW_US = 1_760_000_000_000_000  # 2025-10-09T08:53:20Z

STREAMS = {
    "seismic": Stream("seismic", longest_template_s=60),
    "acoustic": Stream("acoustic", longest_template_s=60),
    "neutrino": Stream("neutrino", longest_template_s=300),
}
CLOCK = Histogram.uniform(-2, 1)
SENSORS = {
    "imb": Sensor("imb", "sn1987a", {"neutrino": Histogram.uniform(-0.05, 0.05)}),
    "geo": Sensor("geo", "bay", {"seismic": CLOCK}),
    "both": Sensor("both", "bay", {"seismic": CLOCK, "acoustic": Histogram.normal(sigma_s=0.5)}),
    "strange": Sensor("strange", "bay", {"undeclared": CLOCK}),
    "vague": Sensor("vague", "bay", {"seismic": Histogram.uniform(-100, 100)}),
}


class KeepingPublisher(Publisher):
    """Keeps what it is given; `acknowledges` decides frame by frame, `busy` refuses everything."""

    problem: str | None = None  # a property of the real one
    log_name = "Kafka"

    def __init__(self) -> None:
        self.busy: str | None = None
        self.acknowledges: list[bool] = []
        self.takes_dead_letters = True
        self.frames: list[Frame] = []
        self.dead_letters: list[tuple[bytes, dict[str, Any]]] = []

    async def publish(self, frames: Sequence[Frame], received_at_us: int) -> list[bool]:
        await asyncio.sleep(0)
        if self.busy:
            raise PublisherBusyError(self.busy)
        self.frames += frames
        return [self.acknowledges.pop(0) if self.acknowledges else True for _ in frames]

    def send_dead_letter(self, key: bytes, value: bytes) -> bool:
        if self.takes_dead_letters:
            self.dead_letters.append((key, json.loads(value)))
        return self.takes_dead_letters

    @property
    def detections(self) -> list[dict[str, Any]]:
        """Every detection in the frames, in order."""
        return [each for frame in self.frames for each in rows_of(json.loads(frame.value))]


def registry_of(sensors: dict[str, Sensor] = SENSORS) -> Registry:
    registry = Registry(STREAMS)
    registry.replace([sensors])
    return registry


@dataclass
class Ingest:
    """An application with everything around it in the test's hands."""

    settings: IngestSettings = field(default_factory=IngestSettings)
    registry: Registry = field(default_factory=registry_of)
    publisher: KeepingPublisher = field(default_factory=KeepingPublisher)
    log_answers: bool = True
    clock_us: Clock = lambda: NOW_US

    def __post_init__(self) -> None:
        self.metrics = IngestMetrics(CollectorRegistry())
        parts = (self.settings, self.registry, self.publisher, self.metrics)
        self.records = KeptRecords()
        audit = AuditTrail("ingest", self.records, clock_us=self.clock_us)
        self.app = create_app(*parts, audit=audit, log_answers=lambda: self.log_answers, clock_us=self.clock_us)
        self.client = TestClient(self.app)

    def post(self, content: bytes | str, content_type: str = "application/json", **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post("/v1/detections", content=content, headers={"content-type": content_type, **named})

    def post_items(self, *items: Any) -> Any:
        return self.post(json.dumps(list(items)))

    def metric(self, name: str, **labels: str) -> float:
        value = self.metrics.registry.get_sample_value(name, labels)
        assert value is not None, name
        return value


def detection(**members: Any) -> dict[str, Any]:
    return {"sensor": "geo", "detected_at": NOW_US - 1_000_000, **members}
