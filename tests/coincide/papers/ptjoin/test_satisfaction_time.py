import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coincide import Histogram, SatisfactionTable, Window
from coincide.errors import ThresholdError
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, ge
from coincide.papers.ptjoin.quadratics import (
    Quadratic,
    bounding_configuration,
    break_points,
    configuration,
    earliest_satisfaction_time,
    greatest_shift,
    quadratic_between,
    quantile_bounds,
    satisfaction_time,
)
from tests.examples import examples
from tests.reference.offsets import TOLERANCE, probability_at
from tests.reference.templates import templates

AS_LONG_AS_NEEDED = Window(200.0)
DELTAS = st.one_of(st.sampled_from([0.5, 0.25, 1 / 3, 1e-9, 1 - 1e-9]), st.floats(0.001, 0.999))
EITHER = Histogram([0, 1, 9, 10], [0.5, 0.0, 0.5])
HOUR = Histogram.uniform(0, 1)


def h(template: Histogram) -> HistogramTimestamp:
    return HistogramTimestamp.of_template(template, 1)


def are_as_the_paper_assumes(*templates: Histogram) -> bool:
    """Without gaps and exact times."""
    return all((each.mass > 0).all() and (np.diff(each.edges_s) > 0).all() for each in templates)


@settings(max_examples=examples(25))
@given(templates(), templates(), DELTAS, st.integers(-50, 50))
def test_equation_7(u: Histogram, v: Histogram, delta: float, x: int) -> None:
    moved = satisfaction_time(h(u) + x, h(v), delta)
    assert moved == pytest.approx(satisfaction_time(h(u), h(v), delta) + x, abs=1e-9)


@given(templates(), templates(), DELTAS)
def test_definition_8_holds_where_the_paper_s_assumptions_do(u: Histogram, v: Histogram, delta: float) -> None:
    assume(are_as_the_paper_assumes(u, v))
    latest, earliest = satisfaction_time(h(u), h(v), delta), earliest_satisfaction_time(h(u), h(v), delta)
    assert ge(h(u) + (v.latest_s - latest), h(v)) == pytest.approx(delta, abs=2e-13)
    assert ge(h(u) + (v.latest_s - earliest), h(v)) == pytest.approx(1 - delta, abs=2e-13)


@given(templates(), templates(), DELTAS, st.floats(0.001, 3))
def test_lemma_3_where_no_bucket_is_empty(u: Histogram, v: Histogram, delta: float, theta: float) -> None:
    assume(are_as_the_paper_assumes(u, v))
    x = greatest_shift(h(u), h(v), delta)
    probability = ge(h(u) - x, h(v))
    assume(1e-6 < probability < 1 - 1e-6)  # nearer to 0 and 1 the difference is below rounding
    assert ge(h(u) - x + theta, h(v)) > probability > ge(h(u) - x - theta, h(v))


def test_lemma_3_and_quantile_bounds_as_printed_fail_where_a_bucket_is_empty() -> None:
    # X_i in [0, 1] or [9, 10]: moved anywhere between 1 and 9 later, H_j comes before just the second half of H_i
    assert ge(h(EITHER) - 2, h(HOUR)) == 0.5
    assert ge(h(EITHER) - 2 + 1, h(HOUR)) == 0.5  # Lemma 3 says above
    # max(H_j) from 2 (H_j = [1, 2]) to 9 (H_j = [8, 9]): Equation 8 takes the last of these times, Equation 9 the first
    assert satisfaction_time(h(EITHER), h(HOUR), 0.5) == 9.0
    assert earliest_satisfaction_time(h(EITHER), h(HOUR), 0.5) == 2.0
    # P(X_i <= t_i) = 1/2 for all t_i of [1, 9]; the first of them bounds x by t_i - min(H_j) = 1, and the root is 8
    assert EITHER.quantile(0.5) - HOUR.earliest_s == 1.0, "as printed"
    least, greatest = quantile_bounds(h(EITHER), h(HOUR), 0.5)
    assert least - 1e-9 <= greatest_shift(h(EITHER), h(HOUR), 0.5) == 8.0 <= greatest


@given(templates(), templates(), DELTAS)
def test_the_quantile_bounded_search_finds_the_configuration(u: Histogram, v: Histogram, delta: float) -> None:
    breaks = break_points(h(u), h(v))
    first, last = bounding_configuration(h(u), h(v), delta)
    assert ge(h(u) - breaks[first], h(v)) >= delta - 2e-13
    assert first == len(breaks) - 1 or ge(h(u) - (breaks[last] + 1e-6), h(v)) < delta + 1e-12
    least, greatest = quantile_bounds(h(u), h(v), delta)
    assert least - 1e-9 <= greatest_shift(h(u), h(v), delta) <= greatest + 1e-9


@pytest.mark.parametrize("buckets", [4, 16, 64])
def test_quantile_bounds_leave_about_half_of_the_configurations(buckets: int) -> None:
    random = np.random.default_rng(buckets)
    edges_s = [np.linspace(0, buckets * length, buckets + 1) for length in (3, 3.1)]
    u, v = (h(Histogram(each_s, random.dirichlet(np.ones(buckets)))) for each_s in edges_s)
    breaks = break_points(u, v)
    for delta in (0.1, 0.5, 0.9):
        least, greatest = quantile_bounds(u, v, delta)
        assert 0.25 < np.mean((breaks >= least) & (breaks <= greatest)) < 0.8


def test_the_configuration_changes_at_break_points_only() -> None:
    u, v = h(Histogram([170, 190, 200, 210], [0.1, 0.3, 0.6])), h(Histogram([70, 80, 90, 100, 110], [0.25] * 4))
    for start, end in pairwise(break_points(u, v)[:-1].tolist()):
        alike = {configuration(u, v, x) for x in (start, start + 1e-9, (start + end) / 2, end - 1e-9)}
        assert alike == {configuration(u, v, start)} != {configuration(u, v, end)}


@settings(max_examples=examples(25))
@given(templates(), templates(), st.floats(0, 1))
def test_inside_a_configuration_the_probability_is_the_quadratic(u: Histogram, v: Histogram, share: float) -> None:
    breaks = break_points(h(u), h(v)).tolist()
    for start, end in pairwise(breaks):
        quadratic, s = quadratic_between(h(u), h(v), start, end), (0.01 + 0.99 * share) * (end - start)
        value = quadratic.constant + s * (quadratic.slope + s * quadratic.curvature)
        assert value == pytest.approx(ge(h(u) - (start + s), h(v)), abs=1e-12)


def test_roots_snap_to_break_points() -> None:
    # falls from 0.9 to 0.8, where it levels out: without snapping, rounding of 5e-14 moves the root by 7e-7
    levelling = Quadratic(start=3.0, end=4.0, constant=0.9, slope=-0.2, curvature=0.1)
    for delta in (0.8, 0.8 + 5e-14, 0.8 - 5e-14):
        assert levelling.root(delta) == 4.0
    assert levelling.root(0.9) == levelling.root(0.9 - 5e-14) == 3.0
    assert levelling.root(0.825) == pytest.approx(3.5, abs=1e-15)


@settings(max_examples=examples(25))
@given(templates(), templates(), st.one_of(st.just(1e-300), DELTAS))
def test_the_library_s_satisfaction_offsets_agree(u: Histogram, v: Histogram, delta: float) -> None:
    # tb - ta <= d + x for the greatest x with P(Xu - x >= Xv) >= delta, and the same with the roles swapped
    table = SatisfactionTable.build([u], [v], AS_LONG_AS_NEEDED, delta)
    right_us = math.floor(200e6 + greatest_shift(h(u), h(v), delta) * 1e6)
    left_us = math.ceil(-200e6 - greatest_shift(h(v), h(u), delta) * 1e6)
    for one, other in ((right_us, table.hi_us.item()), (left_us, table.lo_us.item())):
        for offset_us in {min(one, other) + 1, max(one, other) - 1}:
            if min(one, other) < offset_us < max(one, other):  # then either answer is as good
                probability = probability_at(u, v, offset_us, AS_LONG_AS_NEEDED)
                assert abs(probability - Fraction(delta)) <= 2 * TOLERANCE


def test_near_0_and_1_the_satisfaction_time_is_ill_conditioned_and_its_probability_is_not() -> None:
    # 1 - P grows with the square of the distance: (1 us)^2 / 2 is below what floats tell from 1
    for delta in (1 - 1e-15, 1 - 1e-9, 1e-9, 1e-15):
        x = greatest_shift(h(HOUR), h(HOUR), delta)
        exact = 1 - math.sqrt(2 * delta) if delta < 0.5 else -1 + math.sqrt(2 * (1 - delta))
        assert ge(h(HOUR) - x, h(HOUR)) == pytest.approx(delta, abs=2e-13)
        assert x == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, float("nan")])
def test_thresholds_that_definition_7_leaves_out_are_refused(delta: float) -> None:
    with pytest.raises(ThresholdError, match="threshold"):
        satisfaction_time(h(HOUR), h(HOUR), delta)
