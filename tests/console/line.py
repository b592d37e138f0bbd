"""The whole line in one process, without Kafka and Spark: ingest, the fusion core and alerting, over HTTP.

Ingest's frames go into the fusion core at once, and what comes out is stored by alerting, as Kafka would carry it. Run
it by hand with ``python -m tests.console.line`` to look at the console on the demo's data.
"""

import asyncio
import itertools
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
import yaml
from prometheus_client import CollectorRegistry

from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord, Output
from coincide.wire.declarations.template_proposal import PROPOSALS, TemplateProposal, proposal_in
from deploy.host.machine import ROOT, free_ports, wait_until
from services.alerting.app import create_app as create_alerting
from services.alerting.following.projection import Progress
from services.alerting.live.hub import LiveHub
from services.alerting.queries.acts import Acts
from services.alerting.queries.edits import load_queries
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.receivers.sending import Sending
from services.alerting.records.records import TOPICS
from services.alerting.records.registered_sensors import SENSORS, RegisteredSensors
from services.alerting.settings import AlertingSettings
from services.alerting.store.alert_rows import StoredAlert
from services.alerting.store.dialect import migrate, open_engine
from services.common.access.asgi import Guarded
from services.common.access.component_access import ComponentAccess
from services.common.clock import system_clock_us
from services.common.log.records import Record
from services.common.settings import load_streams
from services.demo.harbour import microphones, play
from services.demo.sn1987a import bursts, posts
from services.ingest.app import create_app as create_ingest
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.frame import Frame
from services.ingest.publishing.publisher import Publisher
from services.ingest.registry.named_templates import TEMPLATES
from services.ingest.registry.registered_clocks import CLOCKS
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.sensors_file import load_sensors
from services.ingest.registry.snapshot import Registry
from services.ingest.settings import IngestSettings
from tests.patience import until
from tests.services.alerting.clients import ListPublisher
from tests.services.alerting.sample_records import NAMES, Database, record
from tests.services.kept_records import KeptRecords

STREAMS = load_streams(ROOT / "config/streams.yaml")


class LinePublisher(Publisher):
    """What ingest publishes to: the line itself."""

    problem = None
    log_name = "the line"

    def __init__(self, line: "Line") -> None:
        self._line = line

    async def publish(self, frames: Sequence[Frame], received_at_us: int) -> list[bool]:
        self._line.frames += [(frame.key, frame.value) for frame in frames]
        self._line.push([("detections", frame.key, frame.value) for frame in frames])
        return [True] * len(frames)

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        self._line.follow(topic, key, value)
        return True

    def send_dead_letter(self, key: bytes, value: bytes) -> bool:
        self._line.store([(TOPICS.dead_letters, key, value)])
        return True


class QueriesPublisher(ListPublisher):
    """What alerting publishes to: the line, which hands queries to the fusion core."""

    line: "Line"

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        with self.line.storing:
            offset = super().publish(topic, key, value)
        self.line.sending.wake()
        if topic == TOPICS.queries:
            self.loop.call_soon_threadsafe(self.line.push, [("queries", key, value)])
        return offset


class Line:
    """Ingest and alerting of the demo's configuration on two ports, and what Kafka and Spark do between them."""

    def __init__(self, folder: Path, *, needs_key: bool = False, is_bare: bool = False) -> None:
        self.ports = dict(zip(("ingest", "alerting", "history"), free_ports(3), strict=True))
        self.frames: list[tuple[bytes, bytes]] = []
        self.needs_key = needs_key
        engine = open_engine(f"sqlite:///{folder / 'line.sqlite3'}")
        migrate(engine)
        self.database = Database(engine)
        self.database.raising.now_us = system_clock_us
        self.storing = threading.RLock()  # alerting has one writer; here its follower and its workers write
        self.core = FusionCore(STREAMS, Limits(), 0)
        self.registry = Registry(STREAMS)
        self.is_bare = is_bare  # as somebody finds it who has configured nothing
        self.sensors = {} if is_bare else load_sensors(ROOT / "config/sensors.yaml", STREAMS)
        self.registry.replace([self.sensors])
        self.proposals: dict[bytes, TemplateProposal] = {}
        self.keys = KeptRecords()
        self._offsets = itertools.count()
        self._loop = asyncio.new_event_loop()
        self._servers: dict[str, uvicorn.Server] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def url(self, component: str) -> str:
        return f"http://127.0.0.1:{self.ports[component]}"

    def start(self) -> None:
        self._thread.start()
        self._make()
        self.headers = {"Authorization": f"Bearer {self.keys.make('the tests', ['admin'])}"}
        for each in ("ingest", "alerting"):
            self.begin(each)
        self.sending.begin()
        for query in [] if self.is_bare else load_queries(ROOT / "config/queries.yaml", STREAMS):
            document, headers = query.to_json(), self.headers
            self.call("PUT", "alerting", f"/v1/queries/{query.id}", json=document, headers=headers).raise_for_status()

    def _make(self) -> None:
        progress = Progress(silence_s=1e9)
        progress.heard()
        progress.caught_up()
        engine, metrics = self.database.engine, self.database.metrics
        self.queries = QueriesPublisher(self.database, progress)
        self.queries.line, self.queries.loop = self, self._loop
        settings = AlertingSettings(
            require_keys=self.needs_key,
            page_items_max=1000,
            history_url=self.url("history"),
            receivers_may_be_private=True,
        )
        of_sending = self.database.receivers, engine, self.queries, metrics
        self.sending = Sending(
            *of_sending, deliver_within_s=settings.deliver_within_s, may_be_private=True, may_tell=lambda: True
        )
        self.access_metrics = CollectorRegistry()
        access = ComponentAccess("alerting", settings, self.access_metrics, publisher=self.keys)
        self.keys.follow_with(access.ring)
        self.ring = access.ring
        self.hub = LiveHub(metrics, settings.live_readers_max, settings.live_queue_matches)
        changes = QueryChanges(engine, self.queries, progress, metrics, access.audit, 5.0, settings.queries_max)
        acts = Acts(self.queries, progress, access.audit, 5.0)
        sensors = RegisteredSensors()
        sensors.replace([[record(SENSORS, each.to_record(), id_.encode()) for id_, each in self.sensors.items()]])
        parts = settings, STREAMS, engine, metrics, progress, changes, self.hub, sensors
        alerting = create_alerting(*parts, receivers=self.database.receivers, acts=acts, access=access)
        of_ingest = IngestSettings(require_keys=self.needs_key)
        ingest_access = ComponentAccess("ingest", of_ingest, self.access_metrics, publisher=self.keys)
        ingest_access.ring = access.ring
        ingest_access.guard._ring = access.ring
        ingest_metrics = IngestMetrics(CollectorRegistry())
        ingest_metrics.sensors.set(len(self.sensors))
        of_parts = of_ingest, self.registry, LinePublisher(self), ingest_metrics
        proposed: Callable[[], list[TemplateProposal]] = partial(list, self.proposals.values())
        ingest = create_ingest(*of_parts, audit=ingest_access.audit, read_proposals=proposed)
        self._apps = {"ingest": Guarded(ingest, ingest_access.guard), "alerting": Guarded(alerting, access.guard)}

    def begin(self, component: str) -> None:
        """Serve it, first or again."""
        config = uvicorn.Config(
            self._apps[component], "127.0.0.1", self.ports[component], log_config=None, timeout_graceful_shutdown=1
        )
        self._servers[component] = server = uvicorn.Server(config)
        asyncio.run_coroutine_threadsafe(server._serve(), self._loop)
        assert wait_until(lambda: server.started, 60)

    def end(self, component: str) -> None:
        """Serve it no longer, as if it were killed: open streams break off."""
        server = self._servers[component]
        server.should_exit = server.force_exit = True
        assert wait_until(lambda: not server.started or not server.servers[0].is_serving(), 60)
        for each in list(server.server_state.connections):
            self._loop.call_soon_threadsafe(each.transport.abort)

    def stop(self) -> None:
        self.sending.stop()
        for server in self._servers.values():
            server.should_exit = server.force_exit = True
        asyncio.run_coroutine_threadsafe(_end_tasks(), self._loop).result(10.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10.0)
        self._loop.close()

    def refusals(self, reason: str) -> float:
        """Return how often ingest and alerting have refused for this reason."""
        samples = [f"coincide_{each}_requests_refused_total" for each in ("ingest", "alerting")]
        return sum(self.access_metrics.get_sample_value(each, {"reason": reason}) or 0.0 for each in samples)

    def call(self, method: str, component: str, path: str, **options: Any) -> httpx2.Response:
        """Ask. Who is told that as much is asked for at once as one may, as pages do that are left, comes again."""
        answers: list[httpx2.Response] = []

        def is_answered() -> bool:
            answers.append(httpx2.request(method, self.url(component) + path, timeout=30.0, **options))
            return answers[-1].status_code != httpx2.codes.TOO_MANY_REQUESTS

        if not is_answered():
            until(is_answered)
        return answers[-1]

    def items(self, what: str, **asked: Any) -> list[dict[str, Any]]:
        """Return the first page of what alerting lists."""
        return list(self.call("GET", "alerting", f"/v1/{what}", params=asked).json()["items"])

    def push(self, records: Sequence[tuple[Any, bytes | None, bytes | None]]) -> None:
        """Hand records to the fusion core, and what comes out to alerting; on the loop, so one after the other."""
        inputs = [InputRecord(topic, 0, next(self._offsets), key, value) for topic, key, value in records]
        self._take(self.core.push(inputs))

    def _take(self, output: Output) -> None:
        told: list[tuple[str, bytes | None, bytes | None]] = [(TOPICS.status, output.status.key, output.status.value)]
        told += [(TOPICS.matches, each.key, each.value) for each in output.matches]
        told += [(TOPICS.evidence, each.key, each.value) for each in output.evidence]
        told += [(TOPICS.episodes, each.key, each.value) for each in output.episodes]
        told += [(TOPICS.dead_letters, each.key, each.value) for each in output.dead_letters]
        self.store(told)

    def follow(self, topic: str, key: bytes, value: bytes | None) -> None:
        """Have ingest's registry hold what was written, and fusion what changes a stream."""
        if topic == SENSORS:
            self.registry.apply({key.decode(): None if value is None else Sensor.from_record(value)})
            return
        if topic == TEMPLATES:
            self.registry.templates.apply([record(topic, value, key)])
            return
        if topic == CLOCKS:
            self.registry.clocks.apply([record(topic, value, key)])
            return
        if topic == PROPOSALS:
            self.proposals[key] = proposal_in(value or b"")
            return
        self.registry.streams.apply([record(topic, value, key)])
        self.push([("queries", key, value)])

    def store(self, records: Sequence[tuple[str, bytes | None, bytes | None]]) -> None:
        now_ms = time.time_ns() // 1_000_000
        numbered = [
            Record(NAMES.full(topic), 0, next(self._offsets), now_ms, key, value) for topic, key, value in records
        ]
        with self.storing:
            rows = self.database.store(numbered)
        if any(isinstance(each, StoredAlert) for each in rows):
            self.sending.wake()
        if rows:
            self.hub.publish(rows)

    def heartbeat(self) -> None:
        """Tell the core what time it is."""
        beat = {"v": 2, "heartbeat": True, "received_at_us": time.time_ns() // 1000}
        self._loop.call_soon_threadsafe(self.push, [("detections", None, json.dumps(beat).encode())])

    def post(self, items: Any, **headers: str) -> httpx2.Response:
        return self.call("POST", "ingest", "/v1/detections", json=items, headers=headers)

    def post_1987(self) -> None:
        """Post what the three detectors saw, neutrino by neutrino and then as bursts."""
        for body in (*posts().values(), bursts()):
            headers = {"Content-Type": "application/x-ndjson"}
            self.call("POST", "ingest", "/v1/detections", content=body, headers=headers).raise_for_status()


async def _end_tasks() -> None:
    tasks = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
    await asyncio.wait(tasks, timeout=1.0)
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def running_line(folder: Path, **options: Any) -> Iterator[Line]:
    """Run a line until the block ends."""
    line = Line(folder, **options)
    line.start()
    try:
        yield line
    finally:
        line.stop()


def main() -> None:
    """Run it on the demo's data until Ctrl-C, and say where."""
    with tempfile.TemporaryDirectory() as folder, running_line(Path(folder)) as line:
        line.post_1987()
        stopped = threading.Event()
        client = httpx2.Client(base_url=line.url("ingest"))
        threading.Thread(target=play, args=(client, microphones(), stopped), daemon=True).start()
        print(yaml.safe_dump({each: line.url(each) for each in line.ports}), flush=True)
        try:
            while True:
                time.sleep(2.0)
                line.heartbeat()
        except KeyboardInterrupt:
            stopped.set()


if __name__ == "__main__":
    main()
