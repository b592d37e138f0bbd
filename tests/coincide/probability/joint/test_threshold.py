"""window_join's joint threshold and probabilities against fractions counted cell by cell."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Detections, Histogram, Window, window_join
from tests.examples import examples
from tests.reference.compatible_members import ACCURACY
from tests.reference.constraint_graphs import FORMS, Form
from tests.reference.counted_cells import graph_probability
from tests.reference.window_join import CYCLIC_ACCURACY, joint_probabilities, sure_and_possible
from tests.reference.window_join_cases import WindowJoinCase, window_joins


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_tuples_that_reach_it_are_found_and_no_others(data: st.DataObject, form: Form) -> None:
    case = data.draw(window_joins((form,), fewest=3, most=4, with_joint=True, most_choices=100))
    found = {tuple(row) for row in window_join(case.frames, case.graph, **case.asked).members.tolist()}
    sure, possible = sure_and_possible(case.frames, case.graph, **case.asked)
    assert sure <= found <= possible


@pytest.mark.parametrize(
    ("away", "count", "certain"), [(-1e-3, 1, [True]), (-1e-9, 1, [False]), (1e-9, 0, []), (1e-3, 0, [])]
)
def test_a_match_too_near_the_joint_threshold_is_marked(away: float, count: int, certain: list[bool]) -> None:
    # five in a cycle-rich graph have no closed form: a thousandth beside the threshold is settled, 1e-9 is not
    edges = [(a, b, Window(lo_s=-1, hi_s=1 + (a == "a"))) for a, b in combinations("abcde", 2)]
    graph, unit = ConstraintGraph.graph(edges, "abcde"), Histogram.uniform(0, 2)
    assert graph_probability(graph, [unit] * 5, [0] * 5) == Fraction(1, 4)
    batches = {role: Detections([0], templates=[unit]) for role in graph.roles}
    tuples = window_join(batches, graph, threshold=0.25 + away)
    assert len(tuples) == count
    assert tuples.is_certain.tolist() == certain
    for (lower, upper), value in zip(tuples.probability_bounds, tuples.probability, strict=True):
        assert lower <= value <= upper
        assert lower <= 0.25 <= upper
        assert upper - lower <= (1e-3 if certain == [True] else 1e-5)


@settings(max_examples=examples(20))
@given(case=window_joins(most=4, with_joint=False, most_choices=100))
def test_each_tuple_tells_its_probability_and_those_of_its_edges(case: WindowJoinCase) -> None:
    tuples = window_join(case.frames, case.graph, **case.asked)
    exact = joint_probabilities(case.frames, case.graph, [tuple(row) for row in tuples.members.tolist()])
    certified = case.graph.is_tree or case.graph.uniform_window is not None
    near = ACCURACY if certified else CYCLIC_ACCURACY
    np.testing.assert_allclose(tuples.probability, [float(each) for each in exact], rtol=0, atol=near)
    assert tuples.edge_probability.shape == (len(tuples), len(case.graph.edges))
    assert (tuples.probability[:, None] <= tuples.edge_probability + near).all()
