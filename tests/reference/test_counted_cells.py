"""Counted cells against integrals done by hand, the exact posterior, pairs bucket by bucket, and simulation."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Histogram, Window
from tests.examples import examples
from tests.reference.constraint_graphs import constraint_graphs
from tests.reference.counted_cells import graph_probability, joint_probability
from tests.reference.joint_tuples import simulated
from tests.reference.pair_probability import Template, in_us, pair_probability
from tests.reference.posterior import ExactPosterior
from tests.reference.window_join_cases import EXACT, HALF_SECOND_US, UNCERTAIN

UNIT, HALF = Histogram.uniform(0, 1), Window(0.5)
templates = st.sampled_from(EXACT + UNCERTAIN)
times = st.integers(-4, 4).map(lambda halves: halves * HALF_SECOND_US)
windows = st.builds(
    lambda lo, length: Window(lo_s=lo / 2, hi_s=(lo + length) / 2), st.integers(-4, 4), st.integers(0, 6)
)


@pytest.mark.parametrize(
    ("edges", "probability"),
    [
        ({(0, 1): HALF}, Fraction(3, 4)),  # 1 - (1 - d)^2
        ({(0, 1): HALF, (0, 2): HALF, (1, 2): HALF}, Fraction(1, 2)),  # 3 d^2 - 2 d^3
        ({(0, 1): HALF, (1, 2): HALF}, Fraction(7, 12)),  # 2 * integral of (x + 1/2)^2 up to 1/2
        ({(0, 1): Window(lo_s=0, hi_s=1), (1, 2): Window(lo_s=0, hi_s=1)}, Fraction(1, 6)),  # one order of six
        ({(0, 1): Window(lo_s=-1, hi_s=0), (0, 2): Window(lo_s=-1, hi_s=0)}, Fraction(1, 3)),  # the first is latest
    ],
)
def test_three_members_uniform_over_one_second(edges: dict[tuple[int, int], Window], probability: Fraction) -> None:
    members = 1 + max(max(pair) for pair in edges)
    assert joint_probability([UNIT] * members, [0] * members, edges) == probability
    assert joint_probability([UNIT.shift(-7)] * members, [7_000_000] * members, edges) == probability


def test_bounds_are_closed_and_atoms_lie_on_them() -> None:
    point, both = Histogram.point(), {(0, 1): Window(1), (0, 2): Window(1), (1, 2): Window(1)}
    assert joint_probability([point] * 3, [0, 500_000, 1_000_000], both) == 1
    assert joint_probability([point] * 3, [0, 500_000, 1_000_001], both) == 0
    with_atom = Histogram([-0.5, 0, 0, 0.5], [0.25, 0.5, 0.25])  # the atom lies on the bound and counts, the end not
    assert joint_probability([point, with_atom], [0, 1_000_000], {(0, 1): Window(1)}) == Fraction(3, 4)


@settings(deadline=None, max_examples=examples(25))
@given(u=templates, v=templates, offset_us=times, window=windows)
def test_two_members_as_bucket_by_bucket(u: Histogram, v: Histogram, offset_us: int, window: Window) -> None:
    one, other = (Template(tuple(each.edges_s.tolist()), tuple(each.mass.tolist())).exact for each in (u, v))
    expected = pair_probability(one, other, offset_us, in_us(window.lo_s), in_us(window.hi_s))
    assert joint_probability([u, v], [0, offset_us], {(0, 1): window}) == expected


@settings(deadline=None, max_examples=examples(25))
@given(
    members=st.lists(st.tuples(templates, times), min_size=2, max_size=4),
    half_width=st.integers(0, 6).map(lambda halves: halves / 2),
)
def test_a_uniform_clique_as_the_mass_of_the_posterior(members: list[tuple[Histogram, int]], half_width: float) -> None:
    of, at = [template for template, _ in members], [time_us for _, time_us in members]
    everywhere = dict.fromkeys(combinations(range(len(members)), 2), Window(half_width))
    exact = ExactPosterior(of, at, Window(half_width)).mass
    assert abs(joint_probability(of, at, everywhere) - exact) < Fraction(1, 10**15)  # masses are normalised here


@settings(deadline=None, max_examples=examples(25))
@given(data=st.data(), graph=constraint_graphs(most=4))
def test_any_graph_as_simulated_and_below_every_edge(data: st.DataObject, graph: ConstraintGraph) -> None:
    of, at = [data.draw(templates) for _ in graph.roles], [data.draw(times) for _ in graph.roles]
    joint = graph_probability(graph, of, at)
    share, _ = simulated(graph, of, [each / 1e6 for each in at], draws=4_000)
    assert abs(float(joint) - share) < 0.04  # 5 standard deviations
    for edge in graph.edges:
        a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
        assert joint <= joint_probability([of[a], of[b]], [at[a], at[b]], {(0, 1): edge.window})


def test_times_finer_than_cells_can_count_are_refused() -> None:
    with pytest.raises(ValueError, match="too many"):
        joint_probability([UNIT, UNIT], [0, 1], {(0, 1): HALF})
