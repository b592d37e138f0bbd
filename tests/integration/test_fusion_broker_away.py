"""The job outlives a broker that is away for longer than Spark's query can bear."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.broker import Broker
from deploy.local.machine import free_ports, wait_until
from tests.integration.fusion_process import FusionProcess, acoustic, query_record, seismic
from tests.integration.topics import create_declared_topics, read_all, send

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(900)]

IMPATIENT = {"kafka_timeout_s": 1.5, "restart_delay_s": 0.5, "restart_delay_max_s": 2.0}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    port, controller_port = free_ports(2)
    broker = Broker(tmp_path / "kafka", port, controller_port)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def job(broker: Broker, tmp_path: Path) -> Iterator[FusionProcess]:
    create_declared_topics(broker.bootstrap, "away.")
    job = FusionProcess(broker.bootstrap, "away.", tmp_path, IMPATIENT)
    yield job
    job.end()


def matched(job: FusionProcess) -> set[str]:
    return {match["members"][0]["id"] for match in read_all(job.bootstrap, job.topic("matches"))}


def test_the_query_is_started_again_when_the_broker_is_back(job: FusionProcess, broker: Broker) -> None:
    job.start_and_wait()
    send(job.bootstrap, job.topic("queries"), [(b"intruder", query_record(version=1))])
    send(job.bootstrap, job.topic("detections"), seismic(range(10)) + acoustic(range(5)))
    assert wait_until(lambda: len(matched(job)) == 5, 60, every_s=0.5), job.tail()

    broker.stop()
    assert wait_until(lambda: (job.metric("coincide_fusion_query_restarts_total") or 0) >= 2, 120), job.tail()
    assert job.is_running()
    assert job.get("/readyz")[0] == 503
    assert job.get("/livez")[0] == 200

    broker.start()
    assert wait_until(job.is_ready, 60), job.tail()
    send(job.bootstrap, job.topic("detections"), acoustic(range(5, 10)))
    expected = {f"seismic-{number}" for number in range(10)}
    assert wait_until(lambda: matched(job) == expected, 60, every_s=0.5), job.tail()
    assert wait_until(lambda: job.metric("coincide_fusion_accepted_total") == 20, 30)


def test_a_broker_that_comes_later_is_waited_for(job: FusionProcess, broker: Broker) -> None:
    broker.stop()
    job.start()
    assert wait_until(lambda: "the query ended" in job.tail(), 90), job.tail()
    assert job.get("/readyz")[0] == 503
    broker.start()
    assert wait_until(job.is_ready, 60), job.tail()
    assert job.stop() == 0
