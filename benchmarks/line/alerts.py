"""From a match on Kafka to a webhook that has it, beside the live stream; and how long pages of many alerts take.

Alerting runs as a process on a real Kafka. Matches are written at a steady rate, each an alert for three receivers: two
webhooks on this machine, and one where nobody listens. The same matches are read from the live stream. Then detections
are posted to the whole line at a rate that makes as many matches, with one webhook. Wall time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx2
import yaml

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.line import whole_line
from benchmarks.line.gateways import OpenLoop
from deploy.host.machine import ROOT, free_ports, wait_until
from deploy.local.broker import Broker
from services.alerting.records.alert import Alert, Step, alert_id
from services.alerting.store.alert_rows import ChangedAlert, store_alerts
from services.alerting.store.dialect import migrate, open_engine
from services.common.kafka.clients import create_admin, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.topic_creation import create_topics
from services.common.topics.topics_file import load_topics

PER_MINUTE = 1_000
EDGE = {"between": ["s", "a"], "window_s": 2.0, "threshold": 0.5}
ALERT = {"alert": {"max_per_hour": 1_000_000}}
QUERY = {"from": {"s": "seismic", "a": "acoustic"}, "within": [EDGE], **ALERT}
LISTED = 100_000
WITHIN_S = 60.0
Times = dict[str, float]


class Hook(ThreadingHTTPServer):
    """Notes when it had which match."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.came_s: Times = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hook

    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if event["type"].endswith("firing"):
            self.server.came_s[event["data"]["source"]] = time.time()
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its base class names it
        pass


@contextmanager
def running_broker(folder: Path) -> Iterator[str]:
    broker = Broker(folder, *free_ports(2))
    broker.start()
    try:
        admin = create_admin(broker.connection)
        create_topics(admin, load_topics(ROOT / "config/topics.yaml"))
        admin.close()
        yield broker.bootstrap
    finally:
        broker.stop()


@contextmanager
def running_alerting(folder: Path, bootstrap: str, receivers: dict[str, Any]) -> Iterator[httpx2.Client]:
    (folder / "receivers.yaml").write_text(yaml.safe_dump({"receivers": receivers}), encoding="utf-8")
    [port] = free_ports(1)
    settings = {
        "port": port,
        "kafka": {"servers": bootstrap},
        "receivers_path": str(folder / "receivers.yaml"),
        "database_url": f"sqlite:///{folder / 'alerting.sqlite3'}",
        "log_level": "WARNING",
    }
    environ = {**os.environ, **{f"COINCIDE_ALERTING_{name.upper()}": json.dumps(v) for name, v in settings.items()}}
    with subprocess.Popen([sys.executable, "-m", "services.alerting"], cwd=ROOT, env=environ) as process:
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
                assert wait_until(lambda: _is_ready(client), WITHIN_S)
                yield client
        finally:
            process.terminate()


def _is_ready(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def read_live(client: httpx2.Client, came_s: Times, sent_s: Times) -> None:
    """Note when the live stream had which match, and when that was sent, until the stream ends."""
    with httpx2.stream("GET", f"{client.base_url}/v1/live", timeout=None, trust_env=False) as response:
        try:
            for line in response.iter_lines():
                match = json.loads(line[5:]) if line.startswith("data:") else {"members": []}
                if len({each["detected_at_us"] for each in match["members"]}) == 1:  # else a match by chance
                    came_s[match["id"]] = time.time()
                    sent_s[match["id"]] = max(each["attributes"]["sent_us"] for each in match["members"]) / 1e6
        except httpx2.TransportError:
            return


def write_matches(bootstrap: str, query_version: int, seconds: float) -> int:
    """Write matches at the rate; return how many."""
    producer, count = create_producer(KafkaConnection(servers=bootstrap)), round(PER_MINUTE / 60 * seconds)
    begun_s = time.time()
    for number in range(count):
        time.sleep(max(0.0, begun_s + number * 60 / PER_MINUTE - time.time()))
        now_us = time.time_ns() // 1000
        span = {"detected_at_us": now_us, "earliest_us": now_us, "latest_us": now_us}
        of_each = {"stream": "seismic", "template": "t-0", "attributes": {"sent_us": now_us}, **span}
        members = [{"role": role, "sensor": f"{role}-1", "id": f"h-{role}-{number}", **of_each} for role in "sa"]
        record = {"v": 1, "id": f"m-{number}", "query": "rings", "query_version": query_version, "area": "bay"}
        record |= {"probability": 0.9, "earliest_us": now_us, "latest_us": now_us, "received_at_us": now_us}
        record |= {"occurred": None, "chance_rate_hz": None}
        producer.send("coincide.matches", key=b"bay", value=json.dumps({**record, "members": members}).encode())
    producer.flush(timeout=10)
    producer.close()
    return count


def percentiles(sent_s: Times, live_s: Times, hooks: list[Hook]) -> list[list[Any]]:
    """Return those of the seconds to the live stream, to each webhook, and from the one to the first of the others."""
    every = [live_s, *(hook.came_s for hook in hooks)]
    columns = [[came_s[id_] - at_s for id_, at_s in sent_s.items()] for came_s in every]
    columns.append([hooks[0].came_s[id_] - live_s[id_] for id_ in sent_s])
    cuts = [quantiles(column, n=100) for column in columns]
    return [[f"{p} %", *(f"{cut[p - 1]:.3f}" for cut in cuts)] for p in (50, 95, 99)]


def delays(options: Options) -> list[list[Any]]:
    """Return percentiles from Kafka's producer on, with three receivers of which one is dead."""
    seconds = 6.0 if options.quick else 60.0
    with tempfile.TemporaryDirectory(prefix="coincide-alerts-") as name:
        folder, hooks = Path(name), [Hook(), Hook()]
        [dead] = free_ports(1)
        ports = {"dead": dead, **{f"hook-{n}": hook.server_address[1] for n, hook in enumerate(hooks)}}
        receivers = {id_: {"webhook": {"url": f"http://127.0.0.1:{port}/"}} for id_, port in ports.items()}
        live_s, sent_s = Times(), Times()
        with running_broker(folder / "kafka") as bootstrap, running_alerting(folder, bootstrap, receivers) as client:
            version = client.put("/v1/queries/rings", json=QUERY).raise_for_status().json()["version"]
            threading.Thread(target=read_live, args=(client, live_s, sent_s), daemon=True).start()
            time.sleep(1.0)
            count = write_matches(bootstrap, version, seconds)
            every = [sent_s, *(hook.came_s for hook in hooks)]
            assert wait_until(lambda: all(len(each) == count for each in every), WITHIN_S)
        return percentiles(sent_s, live_s, hooks)


def delays_from_post(options: Options) -> list[list[Any]]:
    """Return percentiles from the POST on, of a system as `make up` runs it, after it has warmed up."""
    warm_up_s, seconds = (4.0, 8.0) if options.quick else (10.0, 60.0)
    rate, hook = PER_MINUTE / 60 * whole_line.DETECTIONS_PER_MATCH, Hook()
    live_s, sent_s = Times(), Times()
    with whole_line.running(max_delay_s=120, COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE="true") as system:
        receiver = {"webhook": {"url": f"http://127.0.0.1:{hook.server_address[1]}/"}}
        system.alerting.put("/v1/receivers/hook", json=receiver).raise_for_status()
        _have_it_ring(system.alerting)
        threading.Thread(target=read_live, args=(system.alerting, live_s, sent_s), daemon=True).start()
        load = OpenLoop(system.layout.ports.ingest, whole_line.DETECTIONS_PER_MATCH, whole_line.body_now)
        load.offer(rate, warm_up_s)
        warm_at_s = time.time()
        load.offer(rate, seconds)
        all_came = wait_until(lambda: len(sent_s) == load.posts and hook.came_s.keys() >= sent_s.keys(), WITHIN_S)
        assert all_came, (load.posts, len(sent_s), len(hook.came_s))
    return percentiles({id_: at_s for id_, at_s in sent_s.items() if at_s >= warm_at_s}, live_s, [hook])


def _have_it_ring(alerting: httpx2.Client) -> None:
    """Give the line's query a rule; return when matches are found by it."""
    path, query = "/v1/queries/pairs", {**whole_line.QUERY, **ALERT}
    version = alerting.put(path, json=query, headers={"If-Match": "*"}).raise_for_status().json()["version"]
    assert wait_until(lambda: alerting.get(path).json()["applied_version"] == version, WITHIN_S)


def fill(database: str) -> None:
    """Store alerts of 50 queries."""
    engine = open_engine(database)
    migrate(engine)
    now_us = time.time_ns() // 1000
    for first in range(0, LISTED, 5_000):
        changed = []
        for number in range(first, first + 5_000):
            query, at_us = f"q-{number % 50}", now_us - (LISTED - number) * 1_000_000
            said = {"query": query, "area": f"area-{number % 64}", "severity": "warning", "title": f"{query} rings"}
            at = {"fired_at_us": at_us, "received_at_us": at_us, "start_us": at_us, "end_us": at_us}
            id_ = alert_id(query, str(number))
            alert = Alert(id=id_, kind="match", source=f"m-{number}", revision=0, probability=0.9, **said, **at)  # type: ignore[arg-type]
            changed.append(ChangedAlert(alert, [Step("firing", at_us, alert)]))
        with engine.begin() as connection:
            store_alerts(connection, changed)
    engine.dispose()


def pages(options: Options) -> Iterator[list[Any]]:
    """Yield how long a page takes that a person asks for, the median of several, and the last page but one."""
    with tempfile.TemporaryDirectory(prefix="coincide-alerts-") as name:
        folder = Path(name)
        fill(f"sqlite:///{folder / 'alerting.sqlite3'}")
        with running_broker(folder / "kafka") as bootstrap, running_alerting(folder, bootstrap, {}) as client:
            asked: dict[str, dict[str, Any]] = {
                "newest 100": {"limit": 100},
                "newest 1,000": {"limit": 1000},
                "100 of one query": {"limit": 100, "query": "q-7"},
                "100 that fire in one area": {"limit": 100, "state": "firing", "area": "area-7"},
                "none: nothing is resolved": {"limit": 100, "state": "resolved"},
            }
            for words, parameters in asked.items():
                yield [words, *_timed(client, parameters, options.rounds_of(20))]


def _timed(client: httpx2.Client, parameters: dict[str, Any], rounds: int) -> list[str]:
    taken_s = []
    for _ in range(rounds):
        begun_s = time.perf_counter()
        client.get("/v1/alerts", params=parameters).raise_for_status()
        taken_s.append(time.perf_counter() - begun_s)
    taken_s.sort()
    return [f"{1000 * taken_s[len(taken_s) // 2]:.1f}", f"{1000 * taken_s[-1]:.1f}"]


def tables(options: Options) -> Iterator[Table]:
    """Yield the delays, from Kafka's producer on and from the POST on, then the pages."""
    title = f"{PER_MINUTE:,} alerts a minute to three receivers, one of them dead: seconds from Kafka's producer"
    headings = ("percentile", "live stream", "webhook 1", "webhook 2", "webhook 1 above the live stream")
    yield Table(headings, delays(options), title)
    title = f"{PER_MINUTE:,} alerts a minute: seconds from the POST"
    headings_of_one = ("percentile", "live stream", "webhook", "webhook above the live stream")
    yield Table(headings_of_one, delays_from_post(options), title)
    yield Table(("page", "median ms", "slowest ms"), pages(options), f"Pages of {LISTED:,} alerts")


BENCHMARKS = [
    Benchmark("alerts", "from a match to a webhook that has it, beside the live stream", [tables], is_service=True)
]
