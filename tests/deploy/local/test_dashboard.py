"""The dashboard and the rules, asked of a real Prometheus that scrapes a real system."""

import time
from collections.abc import Iterator

import httpx2
import pytest

from deploy.host.machine import wait_until
from deploy.local.system import System
from tests.prometheus import find_prometheus
from tests.services.alerting.receivers.alertmanager_process import find_alertmanager
from trials.drills.first_row import BLANK, expression_of, panels, shown
from trials.drills.monitoring import Monitoring, monitored

pytestmark = [pytest.mark.jvm, pytest.mark.night]

WITHIN_S = 120.0
#: What a system shows nothing of, although it is up, and why.
MAY_BE_BLANK = {
    "Queries over readings: a slide": "there may be no such query",
    "Queries over readings: schemes": "there may be no such query",
    "Template drift by area": "a sensor must have matched a hundred times",
}


@pytest.fixture
def monitoring(system: System) -> Iterator[Monitoring]:
    find_prometheus()
    find_alertmanager()
    sensor = {"area": "dashboard", "streams": {"noise": {"point": True}}}
    system.ingest.put("/v1/sensors/dashboard-1", json=sensor).raise_for_status()
    now_us = time.time_ns() // 1_000
    system.ingest.post("/v1/detections", json=[{"sensor": "dashboard-1", "detected_at": now_us}]).raise_for_status()
    with monitored(system.layout) as running:
        yield running


def test_prometheus_understands_all_and_nothing_is_blank_while_all_is_up(monitoring: Monitoring) -> None:
    """An expression that is none ends this with an `HTTPStatusError`."""

    asked = [(panel["title"], expression_of(target)) for panel in panels() for target in panel["targets"]]

    def blank() -> list[tuple[str, str]]:
        return [each for each in asked if not monitoring.ask(each[1]) and each[0] not in MAY_BE_BLANK]

    wait_until(lambda: not blank(), WITHIN_S)
    assert blank() == []
    up = [each for each in shown(monitoring.ask) if each.panel in {"Up", "Ready"}]
    assert {each.series for each in up} >= {"Kafka", "coincide-ingest", "coincide-fusion", "coincide-alerting"}
    assert {each.colour for each in up} == {"green"}
    assert BLANK not in {each.text for each in shown(monitoring.ask)}
    wait_until(lambda: not faulty(monitoring), WITHIN_S)  # at first none has been judged
    assert faulty(monitoring) == []


def faulty(monitoring: Monitoring) -> list[dict[str, str]]:
    """Return the rules that Prometheus could not judge, or has not yet."""
    answer = httpx2.get(f"{monitoring.prometheus}/api/v1/rules", trust_env=False).raise_for_status()
    every = [rule for group in answer.json()["data"]["groups"] for rule in group["rules"]]
    return [rule for rule in every if rule["health"] != "ok"]
