"""What the acts play on: Kafka, fusion, ingest and alerting on topics of their own, and who is told of alerts."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from coincide.fusion.records.kafka_records import InputRecord
from deploy.local.broker import Broker
from tests.integration.fusion_process import FusionProcess, fusion_job
from tests.integration.service_process import AlertingProcess, IngestProcess, running_alerting, running_ingest
from tests.integration.webhook_sink import SECRET, Sink, running_sink
from tests.patience import until

PREFIX = "story."
KEPT_S = 9 * 365 * 86_400  # what is posted is of 2023
SHARDS = 2
STREAMS = {
    "seismic": {"max_delay_s": 120, "longest_template_s": 60},
    "acoustic": {"max_delay_s": 120},
    "noise": {"max_delay_s": 120},
    "temperature": {"max_delay_s": 30},
    "pressure": {"max_delay_s": 5},
}
IMPATIENT = {"kafka_timeout_s": 2, "kafka_silence_s": 3}
BUDGET_S = 120.0


class Stage:
    """The processes, each of which may be killed and started again; ports change, topics and folders stay."""

    ingest: IngestProcess
    alerting: AlertingProcess

    def __init__(self, broker: Broker, fusion: FusionProcess, sink: Sink, running: ExitStack) -> None:
        self.broker, self.fusion, self.sink = broker, fusion, sink
        self._running = running
        self._of_all: dict[str, Any] = {"streams_path": str(fusion.folder / "streams.yaml"), "topic_prefix": PREFIX}

    def start_services(self) -> None:
        """Start ingest and alerting, first or again, and return when both are ready."""
        receivers = self.fusion.folder / "receivers.yaml"
        receivers.write_text(
            yaml.safe_dump({"receivers": {"ops": {"webhook": {"url": self.sink.url, "secret": SECRET}}}})
        )
        of_ingest = {**self._of_all, "heartbeat_s": 2, "kafka_timeout_s": 2}
        of_alerting = {
            **self._of_all,
            **IMPATIENT,
            "queries_path": None,
            "receivers_path": str(receivers),
            "matches_kept_s": KEPT_S,
            "dead_letters_kept_s": KEPT_S,
            "deliver_within_s": KEPT_S,
        }
        bootstrap, folder = self.broker.bootstrap, self.fusion.folder
        self.ingest = self._running.enter_context(running_ingest(bootstrap, folder, **of_ingest))
        self.alerting = self._running.enter_context(running_alerting(bootstrap, folder, **of_alerting))
        for process in (self.ingest, self.alerting):
            process.wait_for("/readyz", 200)

    def put_query(self, id_: str, document: dict[str, Any]) -> None:
        """Create a query; return when fusion has applied it."""
        created = self.alerting.call("PUT", f"/v1/queries/{id_}", json=document, headers={"If-None-Match": "*"})
        assert created.status_code == 201, created.text
        self.wait(lambda: self.applied_version(id_) == 1)

    def applied_version(self, id_: str) -> int | None:
        version: int | None = self.alerting.get(f"/v1/queries/{id_}")["applied_version"]
        return version

    def put_sensor(self, id_: str, area: str, streams: dict[str, Any], **particulars: Any) -> None:
        put = self.ingest.call("PUT", f"/v1/sensors/{id_}", json={"area": area, "streams": streams, **particulars})
        assert put.status_code == 201, put.text

    def written(self, topic: str, query: str) -> list[dict[str, Any]]:
        """Return what fusion has written about a query, with every repetition."""
        return [each for each in self.fusion.read_all(topic) if each.get("query") == query]

    def wait(self, condition: Callable[[], bool], why: Callable[[], object] = lambda: "") -> None:
        until(condition, BUDGET_S, every_s=0.3, tell=lambda: (why(), self.fusion.tail(10)))

    def is_told_of_all(self) -> bool:
        """Whether every alert was delivered and written down, so that the next alerting tells nothing again."""
        return self.alerting.deliveries_waiting() == 0


def received_now(records: Iterable[InputRecord]) -> list[InputRecord]:
    """Return frames as if ingest had taken them now: fusion forgets an area that nobody has heard of for long."""
    now_us = time.time_ns() // 1000
    return [
        each._replace(value=json.dumps({**json.loads(each.value or b""), "received_at_us": now_us + nth}).encode())
        for nth, each in enumerate(records)
    ]


@contextmanager
def running_stage(broker: Broker, folder: Path) -> Iterator[Stage]:
    """Run all of it until the block ends."""
    (folder / "streams.yaml").write_text(yaml.safe_dump({"streams": STREAMS}))
    settings = {"streams_path": str(folder / "streams.yaml"), "shards": SHARDS, "quiet_s": None, "kafka_timeout_s": 3.0}
    with ExitStack() as running:
        sink = running.enter_context(running_sink())
        fusion = running.enter_context(fusion_job(broker.bootstrap, PREFIX, folder, **settings))
        fusion.start()
        stage = Stage(broker, fusion, sink, running)
        stage.start_services()
        fusion.wait_ready()
        yield stage
