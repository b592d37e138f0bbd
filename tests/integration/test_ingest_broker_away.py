"""Ingest while its broker is away, hangs, dies and comes back: bounded answers, and every 202 is in Kafka."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from coincide import Histogram
from deploy.host.machine import free_ports
from deploy.local.broker import Broker
from services.ingest.registry.seed import seed
from services.ingest.registry.sensors import Sensor
from tests.integration.service_process import IngestProcess, running_ingest
from tests.integration.topics import create_declared_topics, detections_of
from tests.patience import until

pytestmark = [pytest.mark.jvm, pytest.mark.night]

SENSORS = {"geo": Sensor("geo", "bay", {"seismic": Histogram.uniform(-2, 1)})}
START_US = 1_700_000_000_000_000
AT_ONCE_S = 1.0  # the machine may be busy; who waits for Kafka waits 2 s at least
LONGEST_ANSWER_S = 8.0  # the producer's 2 s, the grace of 2 s, and a busy machine


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Yield a broker of this module's own, not started."""
    broker = Broker(tmp_path_factory.mktemp("kafka"), free_ports(1)[0])
    yield broker
    broker.resume()
    broker.stop()


@pytest.fixture(scope="module")
def ingest(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngestProcess]:
    with running_ingest(broker.bootstrap, tmp_path_factory.mktemp("ingest"), kafka_timeout_s=2) as process:
        yield process


class Gateway:
    """Posts one detection after the other and remembers how each POST was answered."""

    def __init__(self, ingest: IngestProcess, name: str = "d") -> None:
        self._ingest, self._name, self._number = ingest, name, 0
        self.acknowledged: list[str] = []

    def post(self) -> int:
        self._number += 1
        item = {"sensor": "geo", "detected_at": START_US + self._number, "id": f"{self._name}{self._number}"}
        started_s = time.monotonic()
        response = self._ingest.post(item)
        assert time.monotonic() - started_s < LONGEST_ANSWER_S
        if response.status_code == 202:
            self.acknowledged.append(str(item["id"]))
        else:
            assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        return response.status_code

    def is_refused_at_once(self) -> bool:
        started_s = time.monotonic()
        return self.post() == 503 and time.monotonic() - started_s < AT_ONCE_S

    def post_until(self, done: threading.Event) -> set[int]:
        statuses = set()
        while not done.is_set():
            statuses.add(self.post())
        return statuses


@pytest.fixture(scope="module")
def gateway(ingest: IngestProcess) -> Gateway:
    return Gateway(ingest)


def test_it_stays_up_without_kafka_and_finds_it_when_it_comes(
    ingest: IngestProcess, broker: Broker, gateway: Gateway
) -> None:
    ingest.wait_for("/livez", 200)
    assert ingest.status_of("/readyz") == 503
    assert gateway.post() == 503
    assert ingest.status_of("/metrics") == 200
    broker.start()
    create_declared_topics(broker.bootstrap)
    seed(broker.connection, SENSORS, prune=False, dry_run=False)
    ingest.wait_for("/readyz", 200)
    until(lambda: ingest.status_of("/v1/sensors/geo") == 200)
    assert gateway.post() == 202


def test_a_hanging_broker_is_answered_in_time_and_recovered_from(
    ingest: IngestProcess, broker: Broker, gateway: Gateway
) -> None:
    broker.suspend()
    try:
        assert gateway.post() == 503
        until(gateway.is_refused_at_once)
        assert all(gateway.is_refused_at_once() for _ in range(20))
        ingest.wait_for("/readyz", 503)
        assert ingest.status_of("/livez") == 200
    finally:
        broker.resume()
    until(lambda: gateway.post() == 202)
    ingest.wait_for("/readyz", 200)
    assert len(gateway.acknowledged) == 2  # when it came, and when it hung no longer


def test_a_broker_killed_under_load_loses_nothing_acknowledged(
    ingest: IngestProcess, broker: Broker, gateway: Gateway
) -> None:
    gateways = [Gateway(ingest, name) for name in ("a", "b", "c")]
    done = threading.Event()
    with ThreadPoolExecutor(len(gateways)) as pool:
        posting = [pool.submit(each.post_until, done) for each in gateways]
        try:
            until(lambda: all(len(each.acknowledged) >= 20 for each in gateways))
            broker.kill()
            ingest.wait_for("/readyz", 503)
            broker.start()
            ingest.wait_for("/readyz", 200)
            before = [len(each.acknowledged) for each in gateways]
            until(lambda: all(len(each.acknowledged) > n for each, n in zip(gateways, before, strict=True)))
        finally:
            done.set()
    assert all(each.result() == {202, 503} for each in posting)
    in_kafka = {each["id"] for each in detections_of(broker.bootstrap)}
    assert all(in_kafka.issuperset(each.acknowledged) for each in (gateway, *gateways))


def test_a_broker_that_ended_is_noticed_before_anybody_waits_for_it(
    ingest: IngestProcess, broker: Broker, gateway: Gateway
) -> None:
    assert gateway.post() == 202
    broker.stop()
    until(lambda: ingest.status_of("/readyz") == 503)
    assert all(gateway.is_refused_at_once() for _ in range(20))
    broker.start()
    until(lambda: gateway.post() == 202)
