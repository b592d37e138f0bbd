"""The job outlives a broker that is away for longer than Spark's query can bear."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.host.patience import suspend
from deploy.local.broker import Broker
from spark_jobs.job.restarts import KAFKA_AWAY
from tests.integration.fusion_process import PUT_QUERY, FusionProcess, acoustic, fusion_job, seismic

pytestmark = [pytest.mark.jvm, pytest.mark.night]

IMPATIENT = {"kafka_timeout_s": 1.5, "restart_delay_s": 0.5, "restart_delay_max_s": 2.0}


@pytest.fixture
def broker(kafka: Broker) -> Iterator[Broker]:
    yield kafka
    if not kafka.is_running:
        kafka.start()


@pytest.fixture
def job(broker: Broker, tmp_path: Path) -> Iterator[FusionProcess]:
    with fusion_job(broker.bootstrap, "away.", tmp_path, **IMPATIENT) as job:
        yield job


def test_the_query_is_started_again_until_the_broker_is_there(job: FusionProcess, broker: Broker) -> None:
    """Both when the broker is late and when it goes away; one story, because every start of Spark takes seconds."""
    broker.stop()
    job.start()
    job.until(lambda: "the query ended" in job.tail())
    assert job.status_of("/readyz") == 503
    broker.start()
    job.until(job.is_ready)

    job.send("queries", [PUT_QUERY])
    job.send("detections", seismic(range(10)) + acoustic(range(5)))
    job.until(lambda: len(set(job.matched())) == 5)
    restarts = job.metric("coincide_fusion_query_restarts_total") or 0
    broker.stop()
    job.until(lambda: (job.metric("coincide_fusion_query_restarts_total") or 0) >= restarts + 2)
    assert job.is_running()
    assert job.status_of("/readyz") == 503
    assert job.status_of("/livez") == 200
    job.until(lambda: job.metric("coincide_fusion_kafka_up") == 0)
    job.until(lambda: job.why_not_ready() == KAFKA_AWAY)
    assert job.metric('coincide_fusion_lag_records{topic="away.detections"}') is None

    broker.start()
    job.until(job.is_ready)
    job.send("detections", acoustic(range(5, 10)))
    expected = {f"seismic-{number}" for number in range(10)}
    job.until(lambda: set(job.matched()) == expected)
    job.until(lambda: job.metric("coincide_fusion_accepted_total") == 20)

    job.until(job.is_ready)
    stopped = job.process.children(recursive=True)  # Java and the Python workers: whatever they are at does not end
    for each in stopped:
        suspend(each)
    job.until(lambda: "no sign of life" in job.why_not_ready())
    for each in stopped:
        each.resume()
    job.until(job.is_ready)
    assert job.stop() == 0
