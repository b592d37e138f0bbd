"""Two systems on one Kafka, each with a prefix of its own: what one is told, the other never sees."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from kafka import TopicPartition

from coincide import Histogram
from deploy.host.machine import ROOT
from deploy.local.broker import Broker
from services.common.kafka.clients import create_consumer
from services.common.kafka.connection import KafkaConnection
from services.ingest.registry.seed import present_sensors, seed
from services.ingest.registry.sensors import Sensor
from tests.integration.service_process import AlertingProcess, IngestProcess, running_alerting, running_ingest
from tests.integration.topics import create_declared_topics, detections_of, read_all, send
from tests.patience import until
from tests.services.alerting.sample_records import match, query

pytestmark = pytest.mark.jvm

PREFIXES = ("two-reef.", "two-hill.")


class Served(NamedTuple):
    """Ingest and alerting, and a key of theirs; its sensor, query and match have the name of the prefix."""

    prefix: str
    bootstrap: str
    ingest: IngestProcess
    alerting: AlertingProcess
    key: str

    @property
    def name(self) -> str:
        return self.prefix.strip(".")

    def ask(
        self, component: IngestProcess | AlertingProcess, method: str, path: str, **options: Any
    ) -> httpx2.Response:
        return component.call(method, path, headers={"Authorization": f"Bearer {self.key}"}, **options)

    def listed(self, component: IngestProcess | AlertingProcess, path: str, of: str = "id") -> list[Any]:
        return [each[of] for each in self.ask(component, "GET", path).raise_for_status().json()["items"]]


def make_key(bootstrap: str, prefix: str) -> str:
    command = [sys.executable, "-m", "services.common.access", "--kafka", bootstrap, "--prefix", prefix, "create"]
    made = subprocess.run(
        [*command, "--scope", "admin", "--name", prefix], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def started(stack: ExitStack, bootstrap: str, prefix: str, folder: Path) -> Served:
    folder.mkdir()
    create_declared_topics(bootstrap, prefix)
    sensor = Sensor(prefix.strip("."), "bay", {"seismic": Histogram.uniform(-1, 1)})
    seed(KafkaConnection(servers=bootstrap), {sensor.id: sensor}, prune=False, dry_run=False, prefix=prefix)
    own: dict[str, Any] = {"topic_prefix": prefix, "require_keys": True}
    ingest = stack.enter_context(running_ingest(bootstrap, folder, **own))
    alerting = stack.enter_context(running_alerting(bootstrap, folder, queries_path=None, **own))
    return Served(prefix, bootstrap, ingest, alerting, make_key(bootstrap, prefix))


@pytest.fixture(scope="module")
def systems(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Served]]:
    folder = tmp_path_factory.mktemp("two")
    with ExitStack() as stack:
        both = [started(stack, kafka.bootstrap, prefix, folder / prefix) for prefix in PREFIXES]
        for system in both:
            for component in (system.ingest, system.alerting):
                component.wait_for("/readyz", 200)
        yield both


def tell(system: Served) -> None:
    """Tell it of a detection, an item that is refused, a query and a match; it has all when this returns."""
    until(lambda: system.ask(system.ingest, "GET", "/v1/sensors").status_code == 200)  # it knows the key
    until(lambda: system.ask(system.alerting, "GET", "/v1/queries").status_code == 200)
    item = {"sensor": system.name, "detected_at": 1_700_000_000_000_000, "id": f"d-{system.name}"}
    assert system.ask(system.ingest, "POST", "/v1/detections", json=[item]).status_code == 202
    bad = {**item, "detected_at": 1_700_000_000, "id": f"bad-{system.name}"}
    assert system.ask(system.ingest, "POST", "/v1/detections", json=[bad]).status_code == 422
    put = system.ask(system.alerting, "PUT", f"/v1/queries/{system.name}", json=query(system.name))
    assert put.status_code == 201, put.text
    send(system.bootstrap, f"{system.prefix}matches", [(b"bay", match(f"m-{system.name}"))])
    until(lambda: system.listed(system.alerting, "/v1/matches") != [])
    until(lambda: system.listed(system.alerting, "/v1/dead-letters") != [])


def test_what_one_system_is_told_the_other_never_sees(systems: list[Served]) -> None:
    for system in systems:
        tell(system)
    for system in systems:
        name, other = system.name, next(each for each in systems if each is not system)
        assert system.listed(system.ingest, "/v1/sensors") == [name]
        assert system.listed(system.alerting, "/v1/queries") == [name]
        assert system.listed(system.alerting, "/v1/matches") == [f"m-{name}"]
        assert system.listed(system.alerting, "/v1/keys", of="name") == [system.prefix]
        assert {each["subject"] for each in read_all(system.bootstrap, system.prefix + "audit")} >= {name}
        changed = system.listed(system.alerting, "/v1/audit", of="subject")
        assert name in changed
        assert other.name not in changed
        assert system.ask(other.alerting, "GET", "/v1/queries").status_code == 401  # a key opens its own system
        assert system.ask(other.ingest, "GET", "/v1/sensors").status_code == 401
        assert list(present_sensors(KafkaConnection(servers=system.bootstrap), system.prefix)) == [name]
        assert [each["id"] for each in detections_of(system.bootstrap, system.prefix)] == [f"d-{name}"]
        told = system.ask(system.alerting, "GET", "/metrics").text
        assert f'coincide_alerting_records_inserted_total{{topic="{system.prefix}matches"}} 1.0' in told
        assert "coincide.matches" not in told


@pytest.mark.parametrize("nth", [0, 1])
def test_kafkas_tools_see_each_system_under_a_group_of_its_own(systems: list[Served], nth: int) -> None:
    system = systems[nth]
    system.ask(system.alerting, "PUT", "/v1/queries/seen", json=query("seen")).raise_for_status()
    consumer = create_consumer(KafkaConnection(servers=system.bootstrap), group_id=f"{system.name}-alerting")
    try:
        until(lambda: consumer.committed(TopicPartition(system.prefix + "queries", 0)) is not None)
    finally:
        consumer.close(autocommit=False)
