"""Differences and steps against exact arithmetic on the decimals that are written, for numbers and for columns."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coincide.arrays.decimals import is_within, lower_end, step_of, steps_of, within
from tests.reference.coalescing import decimal, differ_at_most, differ_at_most_by_share, step

MOST = 10**15 - 1  # so many digits does float64 keep
Scaled = tuple[int, int, int]

exponents = st.integers(-12, 6)
nudges = st.integers(-2, 2)
any_float = st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1.7e308, -1.7e308, math.inf, -math.inf])
int64s = st.integers(-(2**63), 2**63 - 1)


def whole_numbers(least: int) -> st.SearchStrategy[int]:
    """Numbers of any number of digits up to 15."""
    return st.integers(1, 15).flatmap(lambda digits: st.integers(max(least, 1 - 10**digits), 10**digits - 1))


def written(whole: int, exponent: int) -> float:
    return float(f"{whole}e{exponent}")


@given(whole_numbers(-MOST), whole_numbers(0), nudges, st.sampled_from([-1, 1]), exponents)
@example(10**15 - 1, 10**15 - 2, 0, -1, -2)
def test_differences_of_15_digits_are_those_of_the_decimals(
    one: int, bound: int, nudge: int, sign: int, exponent: int
) -> None:
    other = max(-MOST, min(MOST, one + sign * (bound + nudge)))
    a, b, most = written(one, exponent), written(other, exponent), written(bound, exponent)
    expected = differ_at_most(a, b, most)
    assert is_within(a, b, most) == is_within(b, a, most) == expected
    assert within(np.array([a, b]), np.array([b, a]), most).tolist() == [expected] * 2


@given(
    st.integers(1 - 10**6, 10**6 - 1),
    st.integers(0, 10**6 - 1),
    st.integers(-1, 1),
    st.sampled_from([-1, 1]),
    st.integers(-6, 0),
    st.integers(-6, 0),
)
def test_shares_are_those_of_the_decimals(
    one: int, share: int, nudge: int, sign: int, exponent: int, of_share: int
) -> None:
    """The other number has as many digits more as the share has."""
    other = one * 10**-of_share + sign * (share * abs(one) + nudge)
    a, b, ratio = written(one, exponent), written(other, exponent + of_share), written(share, of_share)
    expected = differ_at_most_by_share(a, b, ratio)
    assert is_within(a, b, ratio, relative=True) == expected
    assert within(np.array([a]), np.array([b]), ratio, relative=True).tolist() == [expected]


@given(whole_numbers(-MOST), whole_numbers(1), nudges, exponents)
@example(3, 1, 0, -1)
def test_steps_of_15_digits_are_those_of_the_decimals(number: int, width: int, nudge: int, exponent: int) -> None:
    """Most numbers that are drawn lie at the edge of a step, or right beside it."""
    width = max(width, 1)
    at_an_edge = max(-MOST, min(MOST, number // width * width + nudge))
    for whole in (number, at_an_edge):
        value, wide = written(whole, exponent), written(width, exponent)
        expected = step(value, wide)
        assert step_of(value, wide) == steps_of(np.array([value]), wide)[0] == expected
        if abs(expected) * wide < 1e9 and width < 1000:
            assert lower_end(step_of(value, wide), wide) == float(expected * decimal(wide))


@given(int64s, int64s, whole_numbers(0) | st.integers(0, 2**65), st.integers(1, 2**65))
@example(-(2**63), 2**63 - 1, 1, 2**63)
@example(-(2**63), 2**63 - 1, 2**64 - 2, 3)
def test_whole_numbers_are_exact_whatever_their_size(one: int, other: int, bound: int, width: int) -> None:
    a, b = np.array([one]), np.array([other])
    assert is_within(one, other, bound) == within(a, b, bound)[0] == (abs(one - other) <= bound)
    assert step_of(one, width) == one // width
    assert (steps_of(a, width) == steps_of(b, width))[0] == (one // width == other // width)


@given(any_float | int64s, any_float | int64s, st.floats(0, 1e299), st.booleans())
@example(math.inf, math.inf, 1.0, False)
@example(math.inf, 1.0, 1.0, True)
@example(1e10, 2e10, 1e299, True)
def test_both_forms_agree_on_any_numbers(one: float, other: float, bound: float, relative: bool) -> None:
    a, b = np.array([one]), np.array([other])
    assert is_within(one, other, bound, relative=relative) == within(a, b, bound, relative=relative)[0]
    if bound > 0:
        np.testing.assert_array_equal(np.float64(step_of(one, bound)), np.float64(steps_of(a, bound)[0]))


@pytest.mark.parametrize(
    ("one", "other", "bound", "expected"),
    [
        (math.inf, math.inf, 1, True),
        (math.inf, -math.inf, 1, False),
        (math.inf, 5.0, 1, False),
        (math.nan, math.nan, 1, False),
        (0.1 + 0.2, 0.3, 0, False),
        (0.0, -0.0, 0, True),
    ],
)
def test_only_equal_numbers_lie_within_0_and_only_infinite_ones_near_infinity(
    one: float, other: float, bound: float, expected: bool
) -> None:
    assert is_within(one, other, bound) == within(np.array([one]), np.array([other]), bound)[0] == expected


def test_steps_begin_at_decimals() -> None:
    steps = np.arange(-1000, 1000)
    begins = lower_end(steps, 0.1)
    assert begins.tolist() == [float(Fraction(int(each), 10)) for each in steps]
    assert lower_end(3, 0.1) == 0.3
    assert lower_end(2, 5e-324) == 1e-323
