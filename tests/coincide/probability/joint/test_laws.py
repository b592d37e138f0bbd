from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Histogram, Window, joint_probabilities
from coincide.probability import joint_at_least
from coincide.probability.joint.member_links import Links
from tests.examples import examples
from tests.reference.joint_tuples import CLIQUES, ROUNDING, Tuple, graphs, random_templates, small_templates, tuples


@settings(max_examples=examples(80), deadline=None)
@given(tuples())
def test_it_equals_counting(one: Tuple) -> None:
    lower, value, upper = one.joint()
    exact = one.exact()
    assert lower - ROUNDING <= exact <= upper + ROUNDING
    assert 0.0 <= lower <= value <= upper <= 1.0
    assert upper - lower <= 1e-3 + ROUNDING
    if len(next(Links.of(one.graph).cycle_breakers())) < 2:
        assert abs(value - exact) < ROUNDING


SPREAD = small_templates().filter(lambda each: bool((np.diff(each.edges_s) > 0).all()))


@settings(max_examples=examples(60), deadline=None)
@given(graphs(4, 3), st.lists(SPREAD, min_size=4, max_size=4))
def test_four_members_on_all_cycles_equal_counting(graph: ConstraintGraph, own: list[Histogram]) -> None:
    one = Tuple(graph, own, [0] * 4)
    lower, value, upper = one.joint()
    assert lower == value == upper
    assert abs(value - one.exact()) < ROUNDING


@settings(max_examples=examples(15), deadline=None)
@given(graphs(5, 1), st.lists(small_templates(), min_size=5, max_size=5))
def test_five_members_on_one_cycle_equal_counting(graph: ConstraintGraph, own: list[Histogram]) -> None:
    one = Tuple(graph, own, [0] * 5)
    assert abs(one.joint()[1] - one.exact()) < ROUNDING


@settings(max_examples=examples(25), deadline=None)
@given(tuples(), st.randoms(use_true_random=False))
def test_the_order_of_streams_and_edges_does_not_matter(one: Tuple, random: Any) -> None:
    order = random.sample(range(len(one.templates)), len(one.templates))
    streams = [one.graph.roles[i] for i in order]
    edges = [(edge.b, edge.a, edge.window.swapped()) for edge in one.graph.edges]
    graph = ConstraintGraph.graph(random.sample(edges, len(edges)), streams)
    other = Tuple(graph, [one.templates[i] for i in order], [one.at_s[i] for i in order])
    here, there = one.joint(), other.joint()
    if here[0] == here[2]:
        assert there == pytest.approx(here, abs=ROUNDING)
    assert there[0] <= here[2] + ROUNDING  # two intervals around one number meet
    assert here[0] <= there[2] + ROUNDING


@settings(max_examples=examples(25), deadline=None)
@given(tuples(), st.integers(-(2**50), 2**50))
def test_what_is_later_by_as_much_is_as_probable(one: Tuple, by_us: int) -> None:
    templates, index, times_us = one.columns
    assert joint_probabilities(one.graph, templates, index, times_us + by_us).value[0] == one.joint()[1]


@settings(max_examples=examples(25), deadline=None)
@given(tuples())
def test_no_edge_is_less_probable_than_all(one: Tuple) -> None:
    assert one.joint()[2] <= min(one.edge_probabilities()) + ROUNDING


@settings(max_examples=examples(25), deadline=None)
@given(tuples(extra=1), st.integers(0, 5), st.integers(0, 2), st.integers(0, 2))
def test_wider_windows_are_more_probable(one: Tuple, which: int, earlier: int, later: int) -> None:
    edges = [(edge.a, edge.b, edge.window) for edge in one.graph.edges]
    a, b, window = edges[which % len(edges)]
    edges[which % len(edges)] = (a, b, Window(lo_s=window.lo_s - earlier, hi_s=window.hi_s + later))
    wider = Tuple(ConstraintGraph.graph(edges, one.graph.roles), one.templates, one.at_s)
    assert one.joint()[1] <= wider.joint()[1] + ROUNDING


@settings(max_examples=examples(20), deadline=None)
@given(graphs(5, 10), st.lists(st.integers(-3, 3), min_size=5, max_size=5))
def test_exact_times_are_judged_in_whole_microseconds(graph: ConstraintGraph, at_s: list[int]) -> None:
    apart = dict(zip(graph.roles, at_s, strict=True))
    holds = all(edge.window.lo_s <= apart[edge.b] - apart[edge.a] <= edge.window.hi_s for edge in graph.edges)
    assert Tuple(graph, [Histogram.point()] * 5, at_s).joint() == (holds, holds, holds)


@settings(max_examples=examples(25), deadline=None)
@given(tuples(), st.sampled_from([1.0, 0.5, 0.25, 0.125, 1e-3, 1e-9]))
def test_the_verdict_is_that_of_the_probability(one: Tuple, threshold: float) -> None:
    [verdict] = joint_at_least(one.graph, *one.columns, threshold).tolist()
    exact = one.exact()
    allowed = 1e-3 if len(next(Links.of(one.graph).cycle_breakers())) > 1 else ROUNDING
    assert verdict or exact < threshold + allowed
    assert not verdict or exact >= threshold - allowed


def test_verdicts_on_many_are_those_of_their_probabilities() -> None:
    rng = np.random.default_rng(4)
    graph, n = CLIQUES[4], 40
    sides = [random_templates(rng, 5, 3) for _ in range(4)]
    index, at_us = rng.integers(5, size=(4, n)), rng.integers(-1_500_000, 1_500_000, (4, n))
    joint = joint_probabilities(graph, sides, index, at_us)
    verdict = joint_at_least(graph, sides, index, at_us, 0.3)
    assert 5 < verdict.sum() < n - 5
    assert (joint.upper[verdict] >= 0.3).all()
    assert (joint.lower[~verdict] < 0.3).all()
