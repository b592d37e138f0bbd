from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator

from coincide import Histogram, Window, goodness_of_fit
from coincide.arrays.kinds import FloatArray
from coincide.errors import HistogramError, WindowError
from coincide.learning import learn_template
from coincide.learning.robust import mixed

WITHIN = Window(30)
DRAWS: dict[str, Callable[[Generator, int], FloatArray]] = {
    "normal": lambda rng, count: rng.normal(0.0, 0.5, count),
    "latency": lambda rng, count: -rng.lognormal(0.0, 0.5, count),
    "two clocks": lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(0, 0.1, n), rng.normal(10, 0.5, n)),
    "buffered": lambda rng, count: -rng.uniform(0, 10, count),
    "exact": lambda rng, count: np.where(rng.random(count) < 0.5, 0.0, rng.normal(0.0, 0.5, count)),
}


def spoilt(errors_s: FloatArray, share: float, rng: Generator) -> FloatArray:
    wrong = rng.random(len(errors_s)) < share
    return np.where(wrong, rng.uniform(WITHIN.lo_s, WITHIN.hi_s, len(errors_s)), errors_s)


@pytest.mark.parametrize("kind", DRAWS)
def test_a_fifth_of_wrong_associations_does_little_harm(kind: str, rng: Generator) -> None:
    right, truth = DRAWS[kind](rng, 2000), DRAWS[kind](rng, 50_000)
    errors_s = spoilt(right, 0.2, rng)
    learnt = learn_template(errors_s, WITHIN, buckets=16)
    clean = goodness_of_fit(Histogram.from_samples(right, buckets=16), truth).distance
    naive = goodness_of_fit(Histogram.from_samples(errors_s, buckets=16), truth).distance
    distance = goodness_of_fit(learnt.template, truth).distance
    assert distance < clean + 0.03
    assert distance < 0.5 * naive
    assert learnt.wrong_share == pytest.approx(0.2, abs=0.05)
    assert goodness_of_fit(learnt.expected, spoilt(truth, 0.2, rng)).distance < clean + 0.03


@pytest.mark.parametrize("kind", DRAWS)
def test_without_wrong_associations_it_is_as_learning_from_samples(kind: str, rng: Generator) -> None:
    errors_s = DRAWS[kind](rng, 500)
    learnt = learn_template(errors_s, WITHIN)
    assert learnt.wrong_share < 0.02
    plain = Histogram.from_samples(errors_s)
    levels = np.linspace(-30, 30, 2001)
    assert np.abs(learnt.template.cdf(levels) - plain.cdf(levels)).max() < 0.03


@pytest.mark.parametrize("end_s", [WITHIN.lo_s + 0.004, WITHIN.hi_s - 0.004])
def test_one_wrong_association_does_no_more_harm_at_the_end_of_the_window_than_amid_it(end_s: float) -> None:
    """The window's end is no error: together with one beside it, it would be two within 4 ms, which stand out."""
    errors_s = np.linspace(-1, 1, 60)
    at_end, amid = (learn_template([*errors_s, lone_s], WITHIN) for lone_s in (end_s, end_s / 2))
    assert (at_end.template.earliest_s, at_end.template.latest_s) == pytest.approx((-1, 1), abs=0.05)
    assert at_end.wrong_share == pytest.approx(amid.wrong_share, rel=1e-3)


def test_wrong_associations_do_not_swell_a_rare_delay(rng: Generator) -> None:
    seldom = rng.random(8000) < 0.1
    right = np.where(seldom, rng.uniform(-11, -1, 8000), rng.uniform(-1, 0, 8000))
    learnt = learn_template(spoilt(right, 0.5, rng), WITHIN)
    assert learnt.template.cdf(-1.05) == pytest.approx(0.1, abs=0.025)  # with the chance level it would be 0.22
    assert learnt.wrong_share == pytest.approx(0.5, abs=0.02)


def test_the_distance_falls_with_the_root_of_the_number(rng: Generator) -> None:
    truth = rng.normal(0.0, 0.5, 100_000)

    def typical(count: int) -> float:
        draws = (spoilt(rng.normal(0.0, 0.5, count), 0.1, rng) for _ in range(20))
        return float(np.mean([goodness_of_fit(learn_template(s, WITHIN, 64).template, truth).distance for s in draws]))

    few, many = typical(250), typical(4000)
    assert few / many == pytest.approx(4, rel=0.4)  # sqrt(4000 / 250)


def test_times_that_have_nothing_to_do_with_each_other_teach_nothing(rng: Generator) -> None:
    refused = 0
    for _ in range(20):
        try:
            learn_template(rng.uniform(-30, 30, 300), WITHIN)
        except HistogramError:
            refused += 1
    assert refused >= 19


def test_too_few_errors_are_refused() -> None:
    with pytest.raises(HistogramError, match="at least 30"):
        learn_template([0.0] * 29, WITHIN)
    with pytest.raises(HistogramError, match="at least 30"):
        learn_template([40.0 + n for n in range(100)], WITHIN)
    with pytest.raises(WindowError):
        learn_template([0.0] * 50, Window(0))


def test_a_template_that_fills_the_window_says_so(rng: Generator) -> None:
    errors_s = rng.normal(0, 1, 500)
    assert learn_template(errors_s, Window(2)).fills_window
    assert not learn_template(errors_s, Window(20)).fills_window


@pytest.mark.parametrize("template", [Histogram.point(), Histogram.uniform(-30, 30), Histogram.uniform(-30, 1)])
def test_a_mixture_has_both_parts(template: Histogram) -> None:
    x = np.linspace(-31, 31, 500)
    expected = 0.75 * template.cdf(x) + 0.25 * Histogram.uniform(-30, 30).cdf(x)
    np.testing.assert_allclose(mixed(template, WITHIN, 0.25).cdf(x), expected, atol=1e-12)
