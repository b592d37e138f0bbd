"""An hour of the Central Italy morning, posted by several gateways out of order: REST agrees with the definition.

In each scenario something else goes wrong half-way, and the answer is the same: nothing lost, nothing twice.
"""

from __future__ import annotations

import time

import pytest

from deploy.local.machine import wait_until
from tests.acceptance import italy
from tests.acceptance.line import Line, Scenario, posting
from tests.integration.topics import detections_of
from tests.reference.central_italy import Pick

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]

AWAY_S = 240.0


def halves(seed: int) -> tuple[list[Pick], list[Pick]]:
    picks = italy.arrivals(seed)
    return picks[: len(picks) // 2], picks[len(picks) // 2 :]


def assert_as_by_definition(scenario: Scenario) -> None:
    scenario.wait_until_dealt_with()
    scenario.assert_matches(italy.OWN_S, at_least=700)
    scenario.assert_matches(italy.NEIGHBOURS, at_least=3_000)


def test_every_batch_is_posted_twice(line: Line) -> None:
    scenario = Scenario(line, "twice")
    scenario.post(italy.arrivals(seed=2), line.gateways(times=2))
    assert_as_by_definition(scenario)


@pytest.mark.parametrize(("process", "area", "seed"), [("fusion", "fusion-killed", 3), ("kafka", "broker-killed", 4)])
def test_a_process_is_killed_half_way(line: Line, process: str, area: str, seed: int) -> None:
    scenario = Scenario(line, area)
    first, second = halves(seed)
    scenario.post(first)
    with posting(scenario, second):
        line.system.kill(process)
    assert_as_by_definition(scenario)


def test_the_broker_is_away_for_four_minutes(line: Line) -> None:
    """Meanwhile what needs no broker works, what needs it says so, and gateways are told to come back.

    Every 202 was the truth; everything else was answered 503, and may have landed without harm.
    """
    scenario = Scenario(line, "broker-away")
    first, second = halves(seed=6)
    scenario.post(first)
    scenario.wait_until_dealt_with()
    before = line.matches(italy.NEIGHBOURS.query, "broker-away")

    gateways = line.gateways(patience_s=AWAY_S + 120)
    with posting(scenario, second, gateways):
        line.system.stop_broker()
        back_at_s = time.monotonic() + AWAY_S
        gateways.wait_for(503)
        assert_says_that_kafka_is_away(line)
        now = line.matches(italy.NEIGHBOURS.query, "broker-away")
        assert {match["id"] for match in before} <= {match["id"] for match in now}
        time.sleep(max(0.0, back_at_s - time.monotonic()))  # the four minutes are what is tested
        line.system.start_broker()
    assert {answer.status for answer in gateways.answers} == {202, 503}
    detections = detections_of(line.system.layout.bootstrap)
    in_kafka = {(each["sensor"], each["id"]) for each in detections if each["area"] == "broker-away"}
    accepted = {item[:2] for answer in gateways.answers for item in answer.items if item[2] == "accepted"}
    assert accepted <= in_kafka
    assert len(accepted) == len(second)
    assert_as_by_definition(scenario)
    line.system.wait_ready()


def assert_says_that_kafka_is_away(line: Line) -> None:
    system = line.system
    services = (system.ingest, system.alerting)
    assert [service.get("/livez").status_code for service in services] == [200, 200]
    assert wait_until(lambda: all(service.get("/readyz").status_code == 503 for service in services), timeout_s=30)
    changed = system.alerting.put("/v1/queries/never", json=italy.document(italy.OWN_S))
    assert changed.status_code == 503
    assert changed.headers["content-type"] == "application/problem+json"
    assert int(changed.headers["Retry-After"]) > 0
