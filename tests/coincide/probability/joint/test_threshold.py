"""window_join's joint threshold and probabilities against fractions counted cell by cell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import window_join
from tests.reference.compatible_members import ACCURACY
from tests.reference.constraint_graphs import FORMS, Form
from tests.reference.window_join import CYCLIC_ACCURACY, joint_probabilities, sure_and_possible
from tests.reference.window_join_cases import WindowJoinCase, window_joins


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=12)
@given(data=st.data())
def test_tuples_that_reach_it_are_found_and_no_others(data: st.DataObject, form: Form) -> None:
    case = data.draw(window_joins((form,), fewest=3, most=4, with_joint=True, most_choices=100))
    found = {tuple(row) for row in window_join(case.frames, case.graph, **case.asked).members.tolist()}
    sure, possible = sure_and_possible(case.frames, case.graph, **case.asked)
    assert sure <= found <= possible


@settings(max_examples=20)
@given(case=window_joins(most=4, with_joint=False, most_choices=100))
def test_each_tuple_tells_its_probability_and_those_of_its_edges(case: WindowJoinCase) -> None:
    tuples = window_join(case.frames, case.graph, **case.asked)
    exact = joint_probabilities(case.frames, case.graph, [tuple(row) for row in tuples.members.tolist()])
    certified = case.graph.is_tree or case.graph.uniform_window is not None
    near = ACCURACY if certified else CYCLIC_ACCURACY
    np.testing.assert_allclose(tuples.probability, [float(each) for each in exact], rtol=0, atol=near)
    assert tuples.edge_probability.shape == (len(tuples), len(case.graph.edges))
    assert (tuples.probability[:, None] <= tuples.edge_probability + near).all()
