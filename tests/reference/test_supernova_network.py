import pytest

from tests.reference.supernova_network import AT_LEAST, DETECTORS, SupernovaNetwork, supernova_network
from tests.reference.window_join import members_of_result


@pytest.fixture(scope="module", params=[False, True], ids=["exact", "uncertain"])
def network(request: pytest.FixtureRequest) -> SupernovaNetwork:
    return supernova_network(uncertain=request.param)


def test_fifty_alarms_of_ten_detectors_with_ties_and_bursts(network: SupernovaNetwork) -> None:
    assert len(network.graph.roles) == len(DETECTORS) == 10
    times_us = [int(network.frames[name].detected_at_us[row]) for name, row in network.alarms]
    assert len(times_us) == 50
    assert times_us == sorted(times_us)
    assert len(set(times_us)) < 45
    assert max(len(members_of_result(each, network.graph)) for each in network.expected) == 8


def test_exact_alarms_of_one_supernova_lie_within_10_s() -> None:
    network = supernova_network()
    results = [members_of_result(each, network.graph).items() for each in network.expected]
    times_s = [[network.frames[name].detected_at_us[row] / 1e6 for name, row in members] for members in results]
    assert len(times_s) == 15
    assert max(max(each) - min(each) for each in times_s) == 10.0
    assert all(len(each) >= AT_LEAST for each in times_s)
    assert any({700, 706} <= set(each) for each in times_s)
    assert not any({700, 712} <= set(each) for each in times_s)


def test_each_order_holds_every_alarm_once(network: SupernovaNetwork) -> None:
    orders = list(network.orders_of_arrival(20))
    for order in orders:
        assert sorted((name, row) for name, rows in order for row in rows) == sorted(network.alarms)
    assert len(orders) == len({str(order) for order in orders}) == 23
    assert max(len(rows) for order in orders for _, rows in order) > 1
