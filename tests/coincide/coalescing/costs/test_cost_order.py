"""What the paper claims of the order of costs (section 7), on its weights; and where the profile says otherwise."""

import numpy as np
import pytest

from coincide.arrays.kinds import FloatArray
from coincide.coalescing import PAPER, DistinctQuery, Weights, scheme_costs
from coincide.coalescing.costs.model import eager_update
from docs.studies.coalescing_costs import CPS, OOPS, WEIGHTS, Grid, grid

GRIDS = {(weights.memory, weights.update, weights.scan): grid(weights) for weights in WEIGHTS.values()}


def test_with_equal_weights_eager_is_cheaper_all_but_everywhere() -> None:
    lazy_wins = np.argwhere(~GRIDS[1, 1, 1].eager_wins).tolist()
    assert lazy_wins == [[0, len(OOPS) - 1]]  # the paper: nowhere; where all is late and next to nothing coalesces


def test_the_crossover_moves_to_all_coalesced_and_none_late() -> None:
    wins = [GRIDS[1, weight, 1].eager_wins for weight in (1, 50, 100)]
    assert (wins[0] >= wins[1]).all()
    assert (wins[1] >= wins[2]).all()
    assert wins[0].sum() > wins[1].sum() > wins[2].sum()
    assert wins[2][-1, 0]


@pytest.mark.parametrize("costs", GRIDS.values(), ids=map(str, GRIDS))
def test_eager_is_cheapest_where_all_coalesce_and_none_is_late(costs: Grid) -> None:
    assert costs.eager.argmin() == np.ravel_multi_index((len(CPS) - 1, 0), costs.eager.shape)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=map(str, GRIDS))
def test_eager_is_dearest_where_none_coalesces_and_all_are_late(weights: Weights) -> None:
    assert scheme_costs([DistinctQuery(0.0, 1.0)], weights, PAPER, w=10, k=100).eager.tolist() == [np.inf]


def test_without_memory_eager_is_dearer_than_lazy_most_where_little_coalesces_and_all_are_late() -> None:
    costs = GRIDS[0, 1, 1]
    assert (costs.eager - costs.lazy).argmax() == len(OOPS) - 1


def _updates(cps: tuple[float, ...], oops: tuple[float, ...]) -> FloatArray:
    return np.array([[eager_update(PAPER, [cp] * 100, [oop] * 100, w=20)[-1] for oop in oops] for cp in cps])


def test_eager_updates_cost_more_the_more_are_late() -> None:
    assert (np.diff(_updates(CPS, OOPS)) > 0).all()


def test_eager_updates_in_order_cost_less_the_more_coalesce() -> None:
    # section 7.4 says the contrary of sections 7.2 and 6: a merge is dearer than an insertion only if it is late
    assert (np.diff(_updates(CPS, (0.0,)), axis=0) < 0).all()


def test_late_eager_updates_cost_less_the_more_coalesce_only_while_splits_dominate() -> None:
    at_half = _updates(CPS, (0.5,))  # the paper: always
    assert (np.diff(at_half[:3], axis=0) < 0).all()
    assert (np.diff(at_half[3:], axis=0) > 0).all()
