"""A join in chunks answers as the join of all rows at once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Tuples, Window, timing_join, window_join
from coincide.chunks.chunk_joins import PairQuery, TupleQuery
from coincide.constraints import SensorRule
from tests.examples import examples
from tests.reference.chunked import chunked
from tests.reference.constraint_graphs import FORMS
from tests.reference.window_join_cases import (
    UNCERTAIN,
    WindowJoinCase,
    detections,
    partly_required,
    self_joins,
    sets_of_one_stream,
    window_joins,
)

WINDOWS = (Window(2.0), Window(0.5), Window(lo_s=-1.0, hi_s=3.0), Window(lo_s=1.0, hi_s=1.5), Window.deadline(1.0))
RULES: tuple[SensorRule, ...] = ("different", "any", "same")
pair_queries = st.builds(PairQuery, st.sampled_from(WINDOWS), st.sampled_from((0.05, 0.3, 1.0)), st.sampled_from(RULES))
batches = detections(UNCERTAIN, most_rows=20)
cell_lengths = st.integers(1, 8)


@settings(max_examples=examples(40))
@given(pair_queries, batches, batches, cell_lengths)
def test_pairs_of_two_streams(query: PairQuery, a: Detections, b: Detections, reaches_a_cell: int) -> None:
    pairs = timing_join(a, b, query.window, query.threshold, query.sensors)
    expected = dict(zip(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True), pairs.probability, strict=True))
    assert chunked(query, [a, b], reaches_a_cell) == pytest.approx(expected)


@settings(max_examples=examples(40))
@given(pair_queries, batches, cell_lengths)
def test_pairs_of_one_stream(query: PairQuery, a: Detections, reaches_a_cell: int) -> None:
    query = replace(query, is_self_join=True)
    pairs = timing_join(a, None, query.window, query.threshold, query.sensors)
    expected = dict(zip(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True), pairs.probability, strict=True))
    assert chunked(query, [a], reaches_a_cell) == pytest.approx(expected)


CASES = {
    "exact times": window_joins(certain=True),
    **{f"uncertain times in a {form}": window_joins((form,), with_joint=False) for form in FORMS},
    "joint": window_joins(("path", "uniform clique")),
    "one batch in several roles": self_joins(),
}


@pytest.mark.parametrize("cases", CASES.values(), ids=CASES.keys())
def test_tuples(cases: st.SearchStrategy[WindowJoinCase]) -> None:
    @settings(max_examples=examples(12))
    @given(cases, cell_lengths)
    def holds(case: WindowJoinCase, reaches_a_cell: int) -> None:
        expected = window_join(case.frames, case.graph, None, case.threshold, sensors=case.sensors)
        assert set(_in_chunks(case, None, reaches_a_cell)) == _members(expected)

    holds()


@settings(max_examples=examples(30))
@given(st.data(), sets_of_one_stream(), cell_lengths)
def test_sets_of_one_stream(data: st.DataObject, case: WindowJoinCase, reaches_a_cell: int) -> None:
    at_least = data.draw(st.integers(2, len(case.graph.roles)))
    expected = window_join(case.frames, case.graph, at_least=at_least, **case.asked)
    assert set(_in_chunks(case, at_least, reaches_a_cell)) == _members(expected)


@settings(max_examples=examples(30))
@given(st.data(), cell_lengths)
def test_sets_that_some_roles_may_be_absent_from(data: st.DataObject, reaches_a_cell: int) -> None:
    case = replace(data.draw(window_joins(FORMS, 3, 5, with_joint=False, most_choices=100)), key=None)
    at_least = data.draw(partly_required(case.graph))
    expected = window_join(case.frames, case.graph, at_least=at_least, **case.asked)
    assert set(_in_chunks(case, at_least, reaches_a_cell)) == _members(expected)


def test_a_role_that_may_be_absent_has_no_rows_at_all() -> None:
    graph, point = ConstraintGraph.path("bac", Window(1.0), 0.5), Histogram.point()
    sides = [Detections(times_us, [point]) for times_us in ([], [0, 9_000_000], [500_000, 9_500_000])]
    query = TupleQuery(graph, {"b": 0, "a": 1, "c": 2}, at_least=AtLeast(0, "b"))
    assert set(chunked(query, sides, 1)) == {(-1, 0, 0), (-1, 1, 1)}


def _in_chunks(
    case: WindowJoinCase, at_least: int | AtLeast | None, reaches_a_cell: int
) -> dict[tuple[int, ...], float]:
    distinct = list({id(batch): batch for batch in case.frames.values()}.values())
    side = {role: [id(each) for each in distinct].index(id(batch)) for role, batch in case.frames.items()}
    query = TupleQuery(case.graph, side, case.threshold, case.sensors, at_least)
    return chunked(query, distinct, reaches_a_cell)


def _members(tuples: Tuples) -> set[tuple[int, ...]]:
    return set(map(tuple, tuples.members.tolist()))


def test_a_burst_in_one_cell() -> None:
    rng = np.random.default_rng(1987)
    times_us = np.concatenate([rng.integers(0, 10**12, 200), 5 * 10**11 + rng.integers(0, 2_000_000, 2_000)])
    a, b = (Detections(np.sort(column), [Histogram.uniform(-0.001, 0.001)]) for column in (times_us, times_us + 7))
    query = PairQuery(Window(0.01), 0.5)
    pairs = timing_join(a, b, query.window, query.threshold)
    assert set(chunked(query, [a, b], 2)) == set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
