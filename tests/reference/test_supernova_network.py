from __future__ import annotations

import pytest

from tests.reference.supernova_network import AT_LEAST, DETECTORS, SupernovaNetwork, supernova_network
from tests.reference.window_join import Positions, members_of_result


@pytest.fixture(scope="module", params=[False, True], ids=["exact", "uncertain"])
def network(request: pytest.FixtureRequest) -> SupernovaNetwork:
    return supernova_network(uncertain=request.param)


def seconds_of(network: SupernovaNetwork, positions: Positions) -> list[float]:
    members = members_of_result(positions, network.graph).items()
    return sorted(float(network.frames[name].detected_at_us[row]) / 1e6 for name, row in members)


def test_fifty_alarms_of_ten_detectors_with_ties_and_bursts(network: SupernovaNetwork) -> None:
    assert len(network.graph.roles) == len(DETECTORS) == 10
    times_us = [int(network.frames[name].detected_at_us[row]) for name, row in network.alarms]
    assert len(times_us) == 50
    assert times_us == sorted(times_us)
    assert len(set(times_us)) < 45
    assert max(len(members_of_result(each, network.graph)) for each in network.expected) == 8


def test_exact_alarms_of_one_supernova_lie_within_10_s() -> None:
    network = supernova_network()
    spans_s = [seconds_of(network, each)[-1] - seconds_of(network, each)[0] for each in network.expected]
    assert len(spans_s) == 15
    assert max(spans_s) == 10.0
    assert all(len(members_of_result(each, network.graph)) >= AT_LEAST for each in network.expected)
    seen_s = [set(seconds_of(network, each)) for each in network.expected]
    assert any({700, 706} <= times for times in seen_s)
    assert not any({700, 712} <= times for times in seen_s)


def test_each_order_holds_every_alarm_once(network: SupernovaNetwork) -> None:
    orders = list(network.orders_of_arrival(20))
    assert len(orders) == 23
    for order in orders:
        assert sorted((name, row) for name, rows in order for row in rows) == sorted(network.alarms)
    assert len({str(order) for order in orders}) == 23
    assert max(len(rows) for order in orders for _, rows in order) > 1
