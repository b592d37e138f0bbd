"""The job outlives a broker that is away for longer than Spark's query can bear."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.broker import Broker
from tests.integration.fusion_process import FusionProcess, acoustic, fusion_job, query_record, seismic
from tests.integration.topics import running_broker

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(900)]

IMPATIENT = {"kafka_timeout_s": 1.5, "restart_delay_s": 0.5, "restart_delay_max_s": 2.0}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with running_broker(tmp_path / "kafka") as broker:
        yield broker


@pytest.fixture
def job(broker: Broker, tmp_path: Path) -> Iterator[FusionProcess]:
    with fusion_job(broker.bootstrap, "coincide.", tmp_path, **IMPATIENT) as job:
        yield job


def test_the_query_is_started_again_when_the_broker_is_back(job: FusionProcess, broker: Broker) -> None:
    job.start_and_wait()
    job.send("queries", [(b"intruder", query_record(version=1))])
    job.send("detections", seismic(range(10)) + acoustic(range(5)))
    job.until(lambda: len(set(job.matched())) == 5)

    broker.stop()
    job.until(lambda: (job.metric("coincide_fusion_query_restarts_total") or 0) >= 2, 120)
    assert job.is_running()
    assert job.status_of("/readyz") == 503
    assert job.status_of("/livez") == 200

    broker.start()
    job.until(job.is_ready)
    job.send("detections", acoustic(range(5, 10)))
    expected = {f"seismic-{number}" for number in range(10)}
    job.until(lambda: set(job.matched()) == expected)
    job.until(lambda: job.metric("coincide_fusion_accepted_total") == 20, 30)


def test_a_broker_that_comes_later_is_waited_for(job: FusionProcess, broker: Broker) -> None:
    broker.stop()
    job.start()
    job.until(lambda: "the query ended" in job.tail(), 90)
    assert job.status_of("/readyz") == 503
    broker.start()
    job.until(job.is_ready)
    assert job.stop() == 0
