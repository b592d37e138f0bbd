"""Which queries to coalesce eagerly: brute force, the paper's tables and its claims."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.coalescing import PAPER, DistinctQuery, SchemeCosts, Weights, cost_of, scheme_costs, select_schemes
from coincide.errors import CostError

W, K = 200, 5_000
COSTS = st.floats(0, 100) | st.just(float("inf"))


@given(st.lists(st.tuples(COSTS, st.floats(0, 100)), max_size=12), st.floats(0, 100))
def test_no_other_choice_is_cheaper(of_each: list[tuple[float, float]], shared: float) -> None:
    eager, lazy = (np.array([each[side] for each in of_each], dtype=np.float64) for side in (0, 1))
    costs = SchemeCosts(eager, lazy, shared)
    chosen = select_schemes(costs)
    assert chosen.cost == cost_of(costs, chosen.eager)
    assert chosen.cost == pytest.approx(
        min(
            sum(both[scheme] for both, scheme in zip(of_each, schemes, strict=True)) + (shared if any(schemes) else 0)
            for schemes in product((0, 1), repeat=len(of_each))
        )
    )


def _costs(cps: list[float], oops: list[float], weights: Weights) -> SchemeCosts:
    return scheme_costs([DistinctQuery(*each) for each in zip(cps, oops, strict=True)], weights, PAPER, W, K)


def _as_printed(cps: list[float], oops: list[float], weights: Weights) -> SchemeCosts:
    """Leave the shared lazy extent out, as the paper's objective does."""
    return replace(_costs(cps, oops, weights), lazy_shared=0.0)


def _selected(costs: SchemeCosts) -> str:
    return "".join("E" if eager else "L" for eager in select_schemes(costs).eager)


TABLE_5 = [  # cp of each query, schemes, order of costs: lazy, eager, optimal
    ([0.1] * 6, "LLLLLL", "lazy = optimal < eager"),
    ([0.8] * 6, "EEEEEE", "eager = optimal < lazy"),
    ([0.5] * 3 + [0.1] * 3, "EEELLL", "optimal < lazy < eager"),
    ([0.8] * 3 + [0.1] * 3, "EEELLL", "optimal < eager < lazy"),
]
TABLE_6 = [
    ([0.2] * 6, [0.3] * 6, "LLLLLL"),
    ([0.7] * 6, [0.6] * 6, "EEEEEE"),
    ([0.5] * 6, [0.3] * 6, "EEEEEE"),
    ([0.5] * 6, [0.7] * 6, "LLLLLL"),
    ([0.4] * 3 + [0.2] * 3, [0.6] * 3 + [0.7] * 3, "EEELLL"),
    ([0.4] * 3 + [0.2] * 3, [0.6, 0.8, 0.8] + [0.7] * 3, "ELLLLL"),
]


@pytest.mark.parametrize(("cps", "schemes", "order"), TABLE_5)
def test_table_5(cps: list[float], schemes: str, order: str) -> None:
    costs = _as_printed(cps, [0.0] * 6, Weights(1, 1, 2))
    assert _selected(costs) == schemes
    choices = {"lazy": np.zeros(6, np.bool_), "eager": np.ones(6, np.bool_), "optimal": select_schemes(costs).eager}
    ranked = sorted((cost_of(costs, eager), name) for name, eager in choices.items())
    text = ranked[0][1]
    for (before, _), (cost, name) in pairwise(ranked):
        text += f" {'=' if cost == before else '<'} {name}"
    assert text == order


@pytest.mark.parametrize(("cps", "oops", "schemes"), TABLE_6)
def test_table_6(cps: list[float], oops: list[float], schemes: str) -> None:
    assert _selected(_as_printed(cps, oops, Weights(0, 1, 1))) == schemes


def test_of_the_ten_printed_choices_one_comes_out_only_if_nobody_pays_for_the_lazy_extent() -> None:
    paid = [_selected(_costs(cps, [0.0] * 6, Weights(1, 1, 2))) for cps, _, _ in TABLE_5]
    paid += [_selected(_costs(cps, oops, Weights(0, 1, 1))) for cps, oops, _ in TABLE_6]
    printed = [schemes for *_, schemes, _ in TABLE_5] + [schemes for *_, schemes in TABLE_6]
    assert [case for case, (one, other) in enumerate(zip(paid, printed, strict=True)) if one != other] == [len(TABLE_5)]


def test_the_printed_objective_forgets_to_pay_for_the_lazy_extent() -> None:
    cps, oops, printed = TABLE_6[0]
    costs = _costs(cps, oops, Weights(0, 1, 1))
    assert (printed, _selected(costs)) == ("LLLLLL", "EEEEEE")
    assert select_schemes(costs).cost < cost_of(costs, np.zeros(6, dtype=np.bool_))


@pytest.mark.parametrize(("heavier", "more"), [("memory", "lazy"), ("update", "lazy"), ("scan", "eager")])
def test_a_heavier_weight_moves_queries_to_one_scheme(heavier: str, more: str) -> None:
    each = [Weights(**{"memory": 1, "update": 1, "scan": 2, heavier: weight}) for weight in (1, 2, 5, 10, 50)]
    cps = [0.1, 0.2, 0.3, 0.5, 0.7, 0.9]
    eager = [_selected(_as_printed(cps, [0.2] * 6, weights)).count("E") for weights in each]
    assert eager == sorted(eager, reverse=more == "lazy")
    assert eager[0] != eager[-1]


def test_updates_without_weight_cost_nothing_even_if_they_never_end() -> None:
    query = [DistinctQuery(0.0, 0.5)]
    assert np.isfinite(scheme_costs(query, Weights(1, 0, 1), PAPER, 10, 100).eager).all()
    assert select_schemes(scheme_costs(query, Weights(1, 1, 1), PAPER, 10, 100)).eager.tolist() == [False]


def test_no_query_costs_nothing() -> None:
    nothing = select_schemes(scheme_costs([], Weights(1, 1, 1), PAPER, 10, 10))
    assert (len(nothing.eager), nothing.cost) == (0, 0.0)


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "1"])
def test_what_is_no_weight_is_refused(bad: float) -> None:
    with pytest.raises(CostError, match="update is"):
        Weights(1, bad, 1)


def test_what_is_no_probability_or_number_of_tuples_is_refused() -> None:
    with pytest.raises(CostError, match="cp is 2"):
        scheme_costs([DistinctQuery(2.0)], Weights(1, 1, 1), PAPER, 10, 10)
    with pytest.raises(CostError, match="k is 0"):
        scheme_costs([], Weights(1, 1, 1), PAPER, 10, 0)
