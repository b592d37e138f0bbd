from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Histogram, Window, joint_probabilities
from coincide.probability.joint.cells import Cells
from coincide.probability.joint.conditioning import Condition
from coincide.probability.joint.four_clique import FourClique
from coincide.probability.joint.member_links import Links
from coincide.probability.joint.placed_members import Estimate
from coincide.probability.joint.probability import checked_tuples
from coincide.probability.joint.refinement import plan
from tests.examples import examples
from tests.reference.joint_tuples import FORMS, ROUNDING, Tuple, graphs, random_templates, simulated, small_templates


def planned(one: Tuple, radius: float) -> tuple[object, Estimate]:
    """Estimate one tuple by the general plan, whatever its graph."""
    [block] = checked_tuples(one.graph, *one.columns).blocks()
    chosen = plan(Links.of(one.graph), block.shape, radius)
    return chosen, chosen.estimate(block.members())


@settings(max_examples=examples(40), deadline=None)
@given(graphs(4, 3), st.lists(small_templates(), min_size=4, max_size=4), st.sampled_from([0.2, 1e-2, 1e-4]))
def test_cells_enclose_what_counting_finds(graph: ConstraintGraph, own: list[Histogram], radius: float) -> None:
    one = Tuple(graph, own, [0] * 4)
    chosen, estimate = planned(one, radius)
    if isinstance(chosen, FourClique):
        assert estimate.radius[0] == 0
        assert abs(estimate.value[0] - one.exact()) <= ROUNDING
        [block] = checked_tuples(one.graph, *one.columns).blocks()
        chosen = chosen.otherwise
        estimate = chosen.estimate(block.members())
    assert isinstance(chosen, Cells | Condition)
    assert abs(estimate.value[0] - one.exact()) <= estimate.radius[0] + ROUNDING
    assert estimate.radius[0] <= radius


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(small_templates(), min_size=2, max_size=4), st.integers(0, 4), st.lists(st.integers(-2, 2), min_size=4))
def test_a_uniform_clique_by_the_general_way(own: list[Histogram], d: int, at_s: list[int]) -> None:
    one = Tuple(ConstraintGraph.clique("abcdef"[: len(own)], Window(d)), own, at_s[: len(own)])
    _, estimate = planned(one, 1e-3)
    _, exact, _ = one.joint()
    assert abs(estimate.value[0] - exact) <= estimate.radius[0] + ROUNDING
    if len(own) < 4:
        assert estimate.radius[0] == 0


def test_where_cells_would_be_too_many_it_is_exact() -> None:
    # densities of 3e5 per second beside those of 1/2: the cells would have to be microseconds long
    edges_s = [0, 1e-6, 1], [0, 1e-6, 2], [-1, -1e-6, 2], [-1, 1, 1.000002]
    own = [Histogram(edges, [0.3, 0.7]) for edges in edges_s]
    windows = {pair: Window(1 + n / 10) for n, pair in enumerate(combinations("abcd", 2))}
    graph = ConstraintGraph.clique("abcd", windows)
    lower, value, upper = Tuple(graph, own, [0] * 4).joint()
    assert lower == value == upper
    share, error = simulated(graph, own, [0] * 4, 400_000)
    assert abs(value - share) <= 4 * error


def test_an_exact_time_parts_what_it_joins() -> None:
    # a triangle and a clique of four with an exact time between them: given that, they are independent
    rng = np.random.default_rng(9)
    own = [Histogram.point(), *random_templates(rng, 7, 3)]
    tie = [("p", "a", Window(lo_s=-1, hi_s=2)), ("p", "d", Window(lo_s=-2, hi_s=1))]
    left, right = (
        [(a, b, Window(lo_s=-2 - n / 7, hi_s=2)) for n, (a, b) in enumerate(combinations(names, 2))]
        for names in ("abc", "defg")
    )
    whole = Tuple(ConstraintGraph.graph([*tie, *left, *right], "pabcdefg"), own, [0] * 8).joint()
    first = Tuple(ConstraintGraph.graph([tie[0], *left], "pabc"), own[:4], [0] * 4).joint()
    second = Tuple(ConstraintGraph.graph([tie[1], *right], "pdefg"), [own[0], *own[4:]], [0] * 5).joint()
    assert whole[1] == pytest.approx(first[1] * second[1], abs=1e-3)
    assert whole[0] <= first[2] * second[2]
    assert first[0] * second[0] <= whole[2]
    assert whole[2] - whole[0] <= 1e-3
    assert first[1] * second[1] > 0.05


@pytest.mark.parametrize("graph", FORMS[:-1], ids=lambda graph: f"{graph.form}-{len(graph.roles)}-{len(graph.edges)}")
def test_many_at_once_equal_each_alone_bit_for_bit(graph: ConstraintGraph) -> None:
    k, n = len(graph.roles), 20
    rng = np.random.default_rng(3)
    sides = [[*random_templates(rng, 3, 4), *random_templates(rng, 3, 7), Histogram.point()] for _ in range(k)]
    index, at_us = rng.integers(7, size=(k, n)), rng.integers(-900_000, 900_000, (k, n))
    together = joint_probabilities(graph, sides, index, at_us)
    for column in range(0, n, 9):
        alone = joint_probabilities(graph, sides, index[:, [column]], at_us[:, [column]])
        for name in vars(alone):
            assert getattr(alone, name)[0] == getattr(together, name)[column]
