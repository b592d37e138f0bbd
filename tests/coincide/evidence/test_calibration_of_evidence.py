"""What is said is true: in every tenth the share of one event is the mean posterior, but for what chance explains."""

import numpy as np
import pytest

from coincide import Histogram, Window
from tests.reference.event_networks import Bin, Simulation, tenths

CASES = [
    Simulation("rare", 2, 0.02, 0.9, 0.002, 60_000),
    Simulation("busy", 2, 0.05, 0.9, 0.1, 20_000),
    Simulation("crowded", 2, 0.2, 0.9, 0.3, 5_000),
    Simulation("busy", 3, 0.02, 0.8, 0.05, 20_000),
    Simulation("crowded", 4, 0.05, 0.7, 0.1, 4_000),
]

OWN, OFFSET = Histogram.uniform(-0.2, 0.2), Histogram.uniform(-2, 2)
GATEWAYS = [
    Simulation("gateways", 4, 0.01, 0.8, 0.02, 60_000, OWN, gateways=2, offset=OFFSET),
    Simulation("busy gateways", 4, 0.03, 0.7, 0.1, 40_000, OWN, gateways=2, offset=OFFSET),
]


def is_off(of: Bin, slack: float = 0.02) -> bool:
    """Whether a bin is further off than 4 standard deviations and a little explain: groups are not independent."""
    deviation = np.sqrt(of.said * (1 - of.said) / of.cases)
    return bool(of.gap > 4 * deviation + slack)


@pytest.mark.parametrize("case", CASES, ids=lambda each: f"{each.name} {each.sensors}")
def test_the_share_of_one_event_is_the_mean_posterior(case: Simulation) -> None:
    log = case.log(np.random.default_rng(11))
    found = case.judged(log)
    assert found.shared.is_exact.all()
    bins = tenths(found.shared.value, log.is_event(found.parts.members), least=100)
    assert bins
    assert [each for each in bins if is_off(each)] == []


@pytest.mark.parametrize("case", GATEWAYS, ids=lambda each: each.name)
def test_so_it_is_on_gateways_whose_clocks_are_wrong(case: Simulation) -> None:
    log = case.log(np.random.default_rng(11))
    found = case.judged(log, sets=case.sets(log, threshold=0.002))
    bins = tenths(found.shared.value, log.is_event(found.parts.members), least=100)
    assert bins
    assert [each for each in bins if is_off(each)] == []


def test_errors_of_shared_clocks_that_are_taken_for_independent_hide_events() -> None:
    case = GATEWAYS[1]
    log = case.log(np.random.default_rng(11))
    found = case.judged(log, sets=case.sets(log, threshold=0.002), shares_clocks=False)
    bins = tenths(found.shared.value, log.is_event(found.parts.members), least=100)
    assert any(is_off(each) and each.said < each.true for each in bins)


def test_pairs_that_are_judged_one_by_one_are_too_bold_where_it_is_busy() -> None:
    case = CASES[2]
    log = case.log(np.random.default_rng(11))
    found = case.judged(log)
    alone = tenths(found.evidence.posterior, log.is_event(found.parts.members))
    assert any(is_off(each) and each.said > each.true for each in alone)


def test_an_event_that_travels_within_the_window_is_judged_by_that_window() -> None:
    case = Simulation("travel", 2, 0.05, 0.9, 0.1, 20_000, Histogram.uniform(-0.3, 0.3), travel_s=0.8)
    log = case.log(np.random.default_rng(5))
    sets = case.sets(log, threshold=0.002)
    by_window, at_once = (case.judged(log, travel=travel, sets=sets) for travel in (Window(0.8), None))
    true = log.is_event(by_window.parts.members)
    assert [each for each in tenths(by_window.shared.value, true, least=100) if is_off(each)] == []
    assert any(is_off(each) for each in tenths(at_once.shared.value, true, least=100))
