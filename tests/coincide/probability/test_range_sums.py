from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coincide.probability.piecewise import RangeSums

masses = st.floats(1e-300, 1.0) | st.just(0.0)


@given(st.data(), st.integers(1, 40), st.integers(1, 3))
def test_a_sum_is_right_however_small_it_is_beside_its_neighbours(data: st.DataObject, rows: int, columns: int) -> None:
    values = data.draw(arrays.arrays(np.float64, (rows, columns), elements=masses))
    start, stop = (data.draw(arrays.arrays(np.int64, (7, columns), elements=st.integers(0, rows))) for _ in range(2))
    sums = RangeSums(values).between(start, stop)
    for column in range(columns):
        for row in range(7):
            summed = values[start[row, column] : stop[row, column], column].tolist()
            exact = sum(map(Fraction, summed), Fraction(0))
            assert abs(Fraction(sums[row, column]) - exact) <= exact * Fraction(1, 10**14)


def test_what_is_tiny_between_two_large_ones_is_kept() -> None:
    values = np.array([[1.0], [0.5**100], [0.5**99], [1.0]])
    assert RangeSums(values).between(np.array([[1]]), np.array([[3]])).tolist() == [[3 * 0.5**100]]
