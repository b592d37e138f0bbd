"""Rules about a fusion job that stands still, judged over what the job exports from the start of its process."""

import pytest
import yaml
from prometheus_client import CollectorRegistry

from deploy.host.machine import ROOT
from spark_jobs.job.batch_metrics import BatchMetrics, Lag
from spark_jobs.recovery.halt import Halt, HaltMetrics
from tests.reference.promql import Evaluation, scraped

RULES = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yml").read_text(encoding="utf-8"))
EXPRESSIONS = {rule["alert"]: rule["expr"] for group in RULES["groups"] for rule in group["rules"]}
ABOUT_A_STANDSTILL = (
    "CoincideFusionHalted",
    "CoincideFusionStalled",
    "CoincideFusionFirstBatchMissing",
    "CoincideKafkaAway",
)
NOW_S = 1_700_000_000.0
BEGINS, ENDS = {("detections", 0): 100, ("queries", 0): 0}, {("detections", 0): 110, ("queries", 0): 2}
ALL_OF_IT = {"detections": {"0": 110}, "queries": {"0": 2}}


class Halts(list[Halt]):
    """What fusion is halted by: nothing, or the last."""

    def current(self) -> Halt | None:
        return self[-1] if self else None


@pytest.fixture
def halts() -> Halts:
    return Halts()


@pytest.fixture
def registry(halts: Halts) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(HaltMetrics(halts.current))
    return registry


@pytest.fixture
def batches(registry: CollectorRegistry) -> BatchMetrics:
    return BatchMetrics(registry)


@pytest.fixture
def lag(registry: CollectorRegistry) -> Lag:
    return Lag(registry)


def firing(registry: CollectorRegistry) -> list[str]:
    moment = Evaluation(scraped(fusion=registry), NOW_S)
    return [alert for alert in ABOUT_A_STANDSTILL if moment.firing(EXPRESSIONS[alert])]


def test_a_job_that_never_ends_its_first_batch(registry: CollectorRegistry, batches: BatchMetrics, lag: Lag) -> None:
    lag.processed({})
    lag.measure(BEGINS, ENDS)
    assert firing(registry) == ["CoincideFusionFirstBatchMissing"]


def test_a_job_that_waits_for_its_first_record(registry: CollectorRegistry, batches: BatchMetrics, lag: Lag) -> None:
    lag.processed(ALL_OF_IT)
    lag.measure(BEGINS, ENDS)
    assert firing(registry) == []


@pytest.mark.parametrize(("ago_s", "alerts"), [(44, []), (46, ["CoincideFusionStalled"])])
def test_a_job_that_finishes_no_further_batch(
    registry: CollectorRegistry, batches: BatchMetrics, lag: Lag, ago_s: float, alerts: list[str]
) -> None:
    batches.finished.set(NOW_S - ago_s)
    lag.processed({})
    lag.measure(BEGINS, ENDS)
    assert firing(registry) == alerts


def test_nothing_is_said_of_work_while_kafka_is_away(
    registry: CollectorRegistry, batches: BatchMetrics, lag: Lag
) -> None:
    lag.processed({})
    lag.measure(BEGINS, ENDS)
    lag.lose(kafka_is_away=True)
    assert firing(registry) == ["CoincideKafkaAway"]
    lag.measure(BEGINS, ENDS)
    assert firing(registry) == ["CoincideFusionFirstBatchMissing"]


@pytest.mark.parametrize("ago_s", [None, 3_600])
def test_a_job_that_cannot_go_on_alone_is_one_alert(
    registry: CollectorRegistry, batches: BatchMetrics, lag: Lag, halts: Halts, ago_s: float | None
) -> None:
    if ago_s is not None:
        batches.finished.set(NOW_S - ago_s)
    lag.processed({})
    lag.measure(BEGINS, ENDS)
    halts.append(Halt("records_expired", "some records are gone"))
    assert firing(registry) == ["CoincideFusionHalted"]
    halts.clear()
    assert "CoincideFusionHalted" not in firing(registry)
