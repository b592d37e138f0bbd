from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from coincide import Histogram, Window
from coincide.papers.ptjoin.bucket_pairs import Bucket, HistogramTimestamp, ge, ge_by_buckets, joint_probability
from tests.reference.difference import exact_probability
from tests.reference.templates import templates

BEFORE_OR_AT_ONCE = Window(lo_s=-1000.0, hi_s=0.0)


def h(template: Histogram) -> HistogramTimestamp:
    return HistogramTimestamp.of_template(template, 1)


@pytest.mark.parametrize(
    ("i", "j", "probability"),
    [
        ((0, 2), (2, 5), 0.0),  # (1) i ends where j starts
        ((5, 6), (2, 5), 1.0),  # (2) i starts where j ends
        ((0, 4), (2, 6), 1 / 8),  # (3) half of i, half of j, half of those: 1/2 * 1/2 * 1/2
        ((0, 8), (2, 4), 5 / 8),  # (4) i after j with 4/8, in it with 2/8, and then half
        ((3, 7), (1, 5), 7 / 8),  # (5) the complement of (3)
        ((3, 4), (1, 6), 1 / 2),  # (6) i in j: on average at its middle, 3.5, of which 2.5/5 of j lie before
        ((1, 6), (1, 6), 1 / 2),  # (6) both the same
        ((0, 4), (2, 4), 1 / 4),  # (3) and (4) meet where both end together: half of the half of i that overlaps j
    ],
)
def test_the_six_cases(i: tuple[float, float], j: tuple[float, float], probability: float) -> None:
    assert joint_probability(Bucket(*i, 0.5), Bucket(*j, 0.5)) == pytest.approx(probability / 4, abs=1e-15)


@pytest.mark.parametrize(("at", "probability"), [(0.5, 0.0), (1.0, 0.0), (2.0, 0.25), (5.0, 1.0), (6.0, 1.0)])
def test_an_exact_time_against_a_bucket_divides_by_no_zero(at: float, probability: float) -> None:
    exact, bucket = Bucket(at, at, 1.0), Bucket(1.0, 5.0, 1.0)
    assert joint_probability(exact, bucket) == probability
    assert joint_probability(bucket, exact) == 1.0 - probability


def test_two_equal_exact_times_are_in_order_although_case_1_comes_first_in_the_paper() -> None:
    i = j = Bucket(3.0, 3.0, 1.0)
    as_printed = 0.0 if i.end <= j.start else 1.0
    assert as_printed == 0.0
    assert joint_probability(i, j) == 1.0


@given(templates(), templates())
def test_equation_2_and_theorem_1_give_the_exact_probability(u: Histogram, v: Histogram) -> None:
    exact = float(exact_probability(u, v, Fraction(0), BEFORE_OR_AT_ONCE))
    assert ge_by_buckets(h(u), h(v)) == pytest.approx(exact, abs=1e-14)
    assert ge(h(u), h(v)) == pytest.approx(exact, abs=1e-14)
