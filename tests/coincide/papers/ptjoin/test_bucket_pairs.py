"""Lemma 1, Theorem 1 and the adjusted histograms of Definition 3."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from coincide import Histogram, Window
from coincide.papers.ptjoin import bucket_pairs
from coincide.papers.ptjoin.bucket_pairs import Bucket, HistogramTimestamp, adjusted, ge, joint_probability
from tests.reference.difference import exact_probability
from tests.reference.templates import templates

BEFORE_OR_AT_ONCE = Window(lo_s=-1000.0, hi_s=0.0)


def h(template: Histogram) -> HistogramTimestamp:
    return HistogramTimestamp.of_template(template, 1)


H2 = h(Histogram([70, 80, 90, 100, 110], [0.15, 0.3, 0.4, 0.15]))
H3 = h(Histogram([170, 190, 200, 210], [0.1, 0.3, 0.6]))


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
    assert joint_probability(Bucket(3.0, 3.0, 1.0), Bucket(3.0, 3.0, 1.0)) == 1.0


@given(templates(), templates())
def test_equation_2_and_theorem_1_give_the_exact_probability(u: Histogram, v: Histogram) -> None:
    exact = float(exact_probability(u, v, Fraction(0), BEFORE_OR_AT_ONCE))
    assert bucket_pairs.ge_by_buckets(h(u), h(v)) == pytest.approx(exact, abs=1e-14)
    assert ge(h(u), h(v)) == pytest.approx(exact, abs=1e-14)


@given(templates(), templates())
def test_adjusted_histograms_share_their_intervals_and_keep_their_distributions(u: Histogram, v: Histogram) -> None:
    adjusted_pair = adjusted(h(u), h(v))
    assert adjusted_pair[0].points.tolist() == adjusted_pair[1].points.tolist()
    assert set(adjusted_pair[0].points) == set(h(u).points) | set(h(v).points)
    for template, timestamp in zip((u, v), adjusted_pair, strict=True):
        # at a point twice in the list the first sum is without its exact time, the second with it
        below = dict(zip(timestamp.points[1:].tolist(), np.cumsum(timestamp.mass).tolist(), strict=True))
        for point, probability in below.items():
            assert template.cdf(point) == pytest.approx(probability, abs=1e-14)


def test_the_adjusted_histograms_of_example_4() -> None:
    y = 165.0  # between 160 and 170, where the paper writes them out
    h3, h2 = adjusted(H3, H2 + (y - 70))
    assert h3.points.tolist() == [y, 170, y + 10, y + 20, 190, y + 30, 200, y + 40, 210]
    of_h3 = [0, 0.005 * y - 0.8, 0.05, -0.005 * y + 0.85, 0.03 * y - 4.8, -0.03 * y + 5.1, 0.06 * y - 9.6]
    np.testing.assert_allclose(h3.mass, [*of_h3, -0.06 * y + 10.2], atol=1e-12)
    # the paper prints the 7th and the 8th interval of H2 as I_6 and I_7; its masses are right
    of_h2 = [-0.015 * y + 2.55, 0.015 * y - 2.4, 0.3, -0.04 * y + 6.8, 0.04 * y - 6.4, -0.015 * y + 2.55]
    np.testing.assert_allclose(h2.mass, [*of_h2, 0.015 * y - 2.4, 0], atol=1e-12)
