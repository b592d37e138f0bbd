"""window_join against every choice of one event a stream, tried one at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import window_join
from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.joins import window_join_blocks
from tests.examples import examples
from tests.reference.constraint_graphs import FORMS, Form
from tests.reference.window_join import Positions, at_least_oracle, window_join_oracle
from tests.reference.window_join_cases import (
    WindowJoinCase,
    partly_required,
    self_joins,
    sets_of_one_stream,
    window_joins,
)

EXACTLY_JUDGED: tuple[Form, ...] = ("path", "tree", "uniform clique")  # joint thresholds of others: to 1e-3


def found_in(case: WindowJoinCase) -> set[Positions]:
    """Positions that window_join finds; they must be sorted and none must come twice."""
    members = window_join(case.frames, case.graph, **case.asked).members
    assert members.dtype == np.int64
    assert members.shape[1] == len(case.graph.roles)
    listed = [tuple(row) for row in members.tolist()]
    assert listed == sorted(set(listed))
    return set(listed)


CASES = {
    "exact times": window_joins(certain=True),
    **{f"uncertain times in a {form}": window_joins((form,), with_joint=False) for form in FORMS},
    "five and six streams": window_joins(fewest=5, with_joint=False),
    "one batch in several roles": self_joins(),
}


@pytest.mark.parametrize("cases", CASES.values(), ids=CASES)
@settings(max_examples=examples(10))
@given(data=st.data())
def test_window_join_finds_what_the_oracle_finds(data: st.DataObject, cases: st.SearchStrategy[WindowJoinCase]) -> None:
    case = data.draw(cases)
    assert found_in(case) == window_join_oracle(case.frames, case.graph, **case.asked)


@pytest.mark.parametrize("with_joint", [False, True])
@settings(max_examples=examples(15))
@given(data=st.data())
def test_sets_that_some_roles_may_be_absent_from(data: st.DataObject, with_joint: bool) -> None:
    forms = EXACTLY_JUDGED if with_joint else FORMS
    case = data.draw(window_joins(forms, 3, 4 if with_joint else 5, with_joint=with_joint, most_choices=100))
    at_least = data.draw(partly_required(case.graph))
    expected = at_least_oracle(case.frames, case.graph, at_least, **case.asked)
    members = window_join(case.frames, case.graph, at_least=at_least, **case.asked).members
    assert list(map(tuple, members.tolist())) == sorted(expected)


@settings(max_examples=examples(25))
@given(data=st.data(), case=sets_of_one_stream())
def test_at_least_so_many_events_of_one_batch(data: st.DataObject, case: WindowJoinCase) -> None:
    at_least = data.draw(st.integers(2, len(case.graph.roles)))
    expected = at_least_oracle(case.frames, case.graph, at_least, **case.asked)
    members = list(map(tuple, window_join(case.frames, case.graph, at_least=at_least, **case.asked).members.tolist()))
    assert members == sorted(members)
    assert sorted(tuple(sorted(each)) for each in members) == sorted({tuple(sorted(each)) for each in expected})


@settings(max_examples=examples(10))
@given(case=window_joins(most=4, with_joint=False), seed=st.integers(0, 9))
def test_any_other_condition(case: WindowJoinCase, seed: int) -> None:
    def where(members: Int64Array) -> BoolArray:
        return (members @ np.arange(1, members.shape[1] + 1) + seed) % 3 > 0

    expected = window_join_oracle(case.frames, case.graph, where=where, **case.asked)
    members = window_join(case.frames, case.graph, where=where, **case.asked).members
    assert {tuple(row) for row in members.tolist()} == expected


@settings(max_examples=8)
@given(case=window_joins(with_joint=False))
def test_parts_are_the_same_tuples(case: WindowJoinCase) -> None:
    parts = window_join_blocks(case.frames, case.graph, **case.asked)
    listed = [tuple(row) for part in parts for row in part.members.tolist()]
    assert len(listed) == len(set(listed))
    assert set(listed) == found_in(case)
