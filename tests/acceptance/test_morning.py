"""An hour of the Central Italy morning out of order, whatever goes wrong half-way: REST agrees with the definition."""

import time

import pytest

from tests.acceptance import italy
from tests.acceptance.hour import Hour
from tests.acceptance.line import Line, Scenario, posting
from tests.acceptance.on_italy import on_both, on_one, on_spark
from tests.integration.service_process import metric
from tests.integration.topics import detections_of
from tests.patience import until

AWAY_AT_LEAST_S = 45.0  # every other client gives up within 30 s
GIVES_UP_WITHIN_S = 150.0  # a read under way waits 30 s for records and 30 s for offsets, then the query ends


def assert_as_by_definition(scenario: Scenario) -> None:
    scenario.wait_until_dealt_with()
    scenario.assert_matches(italy.OWN_S, at_least=700)
    scenario.assert_matches(italy.NEIGHBOURS, at_least=3_000)


@on_one
def test_every_batch_is_posted_twice(line: Line) -> None:
    scenario = Scenario(line, "twice")
    scenario.post(italy.arrivals(seed=2), line.gateways(times=2))
    assert_as_by_definition(scenario)


@on_both
def test_fusion_alerting_and_kafka_are_killed_half_way(posted: Hour) -> None:
    assert_as_by_definition(posted.killed)


@on_spark
@pytest.mark.night
def test_the_broker_is_away_until_spark_gives_up(line: Line) -> None:
    """Meanwhile what needs no broker works, what needs it says so, and gateways are told to come back.

    Every 202 was the truth; everything else was answered 503, and may have landed without harm.  The query's death is
    the last thing that an absence causes: the broker comes back when fusion has had to start it again.
    """
    scenario = Scenario(line, "broker-away")
    first, second = italy.parts(seed=6, count=2)
    scenario.post(first)
    scenario.wait_until_dealt_with()
    before = line.matches(italy.NEIGHBOURS.query, "broker-away")
    restarts = query_restarts(line)

    gateways = line.gateways(patience_s=GIVES_UP_WITHIN_S + 120)
    with posting(scenario, second, gateways):
        line.system.stop_broker()
        back_at_s = time.monotonic() + AWAY_AT_LEAST_S
        until(lambda: any(answer.status == 503 for answer in gateways.answers))
        assert_says_that_kafka_is_away(line)
        now = line.matches(italy.NEIGHBOURS.query, "broker-away")
        assert {match["id"] for match in before} <= {match["id"] for match in now}
        until(lambda: query_restarts(line) > restarts)
        assert not line.system.is_ready("fusion")
        time.sleep(max(0.0, back_at_s - time.monotonic()))
        line.system.start_broker()
    assert {answer.status for answer in gateways.answers} == {202, 503}
    detections = detections_of(line.system.layout.bootstrap)
    in_kafka = {(each["sensor"], each["id"]) for each in detections if each["area"] == "broker-away"}
    accepted = {item[:2] for answer in gateways.answers for item in answer.items if item[2] == "accepted"}
    assert accepted <= in_kafka
    assert len(accepted) == len(second)
    assert_as_by_definition(scenario)
    line.system.wait_ready()


def query_restarts(line: Line) -> float:
    restarts = metric(line.system.layout.url("fusion"), "coincide_fusion_query_restarts_total")
    assert restarts is not None
    return restarts


def assert_says_that_kafka_is_away(line: Line) -> None:
    system = line.system
    services = (system.ingest, system.alerting)
    assert [service.get("/livez").status_code for service in services] == [200, 200]
    until(lambda: all(service.get("/readyz").status_code == 503 for service in services))
    changed = system.alerting.put("/v1/queries/never", json=italy.document(italy.OWN_S))
    assert changed.status_code == 503
    assert changed.headers["content-type"] == "application/problem+json"
    assert int(changed.headers["Retry-After"]) > 0
