import numpy as np
import pytest
from hypothesis import given, settings

from coincide import Histogram, Window, match_probability
from coincide.clocks import whole_error
from coincide.errors import HistogramError
from tests.examples import examples
from tests.reference.joint_tuples import small_templates
from tests.reference.shared_clocks import sum_cdf

SMOOTH = [
    (Histogram.uniform(-0.05, 0.05), Histogram.uniform(-30, 30)),
    (Histogram.normal(1, 32), Histogram.normal(1, 32)),
    (Histogram.normal(0.1, 8), Histogram.normal(3, 32)),
    (Histogram.from_latency([(0, 1, 0.5), (1, 2, 0.2), (2, 40, 0.3)]), Histogram.normal(1, 16)),
]


@settings(max_examples=examples(60), deadline=None)
@given(small_templates(), small_templates())
def test_its_cdf_is_that_of_the_sum_in_fractions(own: Histogram, clock: Histogram) -> None:
    whole = whole_error(own, clock)
    assert len(whole.mass) <= 64
    times_s = np.linspace(whole.earliest_s - 0.1, whole.latest_s + 0.1, 41)
    off = [abs(whole.cdf(time_s) - float(sum_cdf(own, clock, time_s))) for time_s in times_s.tolist()]
    assert max(off) <= 5e-4


@pytest.mark.parametrize(("own", "clock"), SMOOTH)
def test_a_probability_with_an_exact_partner_is_as_close_as_stated(own: Histogram, clock: Histogram) -> None:
    whole, rng = whole_error(own, clock), np.random.default_rng(1)
    centre = rng.uniform(whole.earliest_s, whole.latest_s, 8)
    for at_s, half_s in zip(centre.tolist(), rng.uniform(0, whole.length_s, 8).tolist(), strict=True):
        found = match_probability(Histogram.point(), whole, -at_s, Window(half_s))
        exact = sum_cdf(own, clock, at_s + half_s) - sum_cdf(own, clock, at_s - half_s)
        assert abs(found - float(exact)) <= 1e-3


@pytest.mark.parametrize(("own", "clock"), SMOOTH)
def test_mean_and_spread_add_up(own: Histogram, clock: Histogram) -> None:
    whole = whole_error(own, clock)
    assert whole.mean_s == pytest.approx(own.mean_s + clock.mean_s, abs=whole.length_s * 5e-4)
    assert whole.std_s == pytest.approx(np.hypot(own.std_s, clock.std_s), rel=0.01)


def test_a_clock_that_is_right_changes_nothing() -> None:
    own = Histogram([0, 0, 1, 3], [0.2, 0.5, 0.3])
    assert whole_error(own, Histogram.point()) == own
    assert whole_error(Histogram.point(), own) == own


def test_more_exact_times_than_buckets_are_refused() -> None:
    at_s = np.repeat(np.arange(10.0), 2)
    mass = np.zeros(19)
    mass[::2] = 0.1
    own = Histogram(at_s, mass)
    clock = Histogram(at_s * 17.3, mass)
    with pytest.raises(HistogramError, match="64 buckets"):
        whole_error(own, clock)
