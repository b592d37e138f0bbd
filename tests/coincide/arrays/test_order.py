"""Stable orders against numpy's own, whatever fits or does not fit beside the position."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.arrays.order import merged_order_by, stable_order, stable_order_by, stable_sort

FAR = 2**62
values = st.lists(st.one_of(st.integers(-3, 3), st.integers(-FAR, FAR)), max_size=40)


@given(values)
def test_equals_a_stable_argsort(listed: list[int]) -> None:
    array = np.array(listed, dtype=np.int64)
    order = np.argsort(array, kind="stable").tolist()
    assert stable_order(array).tolist() == order
    assert [column.tolist() for column in stable_sort(array)] == [sorted(listed), order]


@given(st.lists(st.tuples(st.integers(-2, 2), st.one_of(st.integers(-2, 2), st.integers(-FAR, FAR))), max_size=40))
def test_equals_lexsort(listed: list[tuple[int, int]]) -> None:
    first, second = np.array(listed, dtype=np.int64).reshape(-1, 2).T
    assert stable_order_by(first, second).tolist() == np.lexsort((second, first)).tolist()


@given(st.lists(st.tuples(st.integers(-2, 2), st.one_of(st.integers(-2, 2), st.integers(-FAR, FAR))), max_size=40))
def test_two_pieces_are_merged_stably(listed: list[tuple[int, int]]) -> None:
    pieces = sorted(listed[: len(listed) // 2]) + sorted(listed[len(listed) // 2 :])
    first, second = np.array(pieces, dtype=np.int64).reshape(-1, 2).T
    assert merged_order_by(first, second).tolist() == np.lexsort((second, first)).tolist()


@pytest.mark.parametrize("span", [2**43 - 1, 2**43, 2**63 - 1])  # 20 bits of position leave 43
def test_around_the_widest_that_fits(span: int) -> None:
    array = np.random.default_rng(span % 97).integers(0, span, 2**19)
    array[[5, 9]] = 0, span
    assert np.array_equal(stable_order(array), np.argsort(array, kind="stable"))
