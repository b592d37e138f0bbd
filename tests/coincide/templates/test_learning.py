import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import Histogram, goodness_of_fit
from coincide.arrays.kinds import FloatArray
from coincide.errors import HistogramError
from coincide.templates.learning import LEAST_SAMPLES
from tests.examples import examples
from tests.reference.best_blocks import best_blocks

milliseconds = st.lists(st.integers(-5000, 5000), min_size=LEAST_SAMPLES, max_size=120)
repeating = st.lists(st.sampled_from([-7, 0, 0, 0, 0, 1, 2, 3, 900]), min_size=LEAST_SAMPLES, max_size=120)
samples = st.one_of(milliseconds, repeating).map(lambda values: np.array(values) / 1024)  # exact in binary


def atoms_of(learnt: Histogram) -> list[float]:
    return learnt.edges_s[:-1][np.diff(learnt.edges_s) == 0].tolist()  # type: ignore[no-any-return]


DRAWS: dict[str, Callable[[Generator, int], FloatArray]] = {
    "normal": lambda rng, count: rng.normal(0.0, 1.0, count),
    "latency": lambda rng, count: -rng.lognormal(0.0, 1.0, count),
    "outliers": lambda rng, n: np.where(rng.random(n) < 0.01, rng.uniform(-1000, 1000, n), rng.normal(0, 1, n)),
    "two clocks": lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(0, 0.1, n), rng.normal(10, 0.5, n)),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_what_is_learnt_comes_close_to_the_truth_and_closer_than_equal_masses(kind: str, rng: Generator) -> None:
    observed, later = DRAWS[kind](rng, 2000), DRAWS[kind](rng, 50_000)
    equal_mass = Histogram(np.quantile(observed, np.linspace(0, 1, 9)), np.full(8, 1 / 8))
    learnt = goodness_of_fit(Histogram.from_samples(observed, buckets=8), later).distance
    # the samples themselves are 0.02 off, rarely 0.03
    assert learnt < min(0.05, goodness_of_fit(equal_mass, later).distance)


def test_uniform_samples_get_one_bucket(rng: Generator) -> None:
    counts = [len(Histogram.from_samples(rng.uniform(-2, 3, 200)).mass) for _ in range(100)]
    assert counts.count(1) >= 85  # a needless one in about 5 % of cases


def test_more_samples_earn_more_buckets(rng: Generator) -> None:
    buckets = [len(Histogram.from_samples(rng.normal(0, 1, count), buckets=50).mass) for count in (50, 1000, 50_000)]
    assert buckets == sorted(buckets)
    assert buckets[0] <= 4
    assert 8 <= buckets[-1] < 50


def test_one_outlier_takes_its_own_share_and_no_more(rng: Generator) -> None:
    learnt = Histogram.from_samples([*rng.normal(0, 1, 999), 5000.0])
    assert learnt.latest_s == 5000.0
    assert learnt.cdf(10.0) > 0.99


def test_an_exact_clock_that_sometimes_fails_keeps_its_atom(rng: Generator) -> None:
    learnt = Histogram.from_samples([0.0] * 70 + rng.normal(0, 1, 30).tolist())
    assert atoms_of(learnt) == [0.0]
    assert learnt.mass[np.diff(learnt.edges_s) == 0].tolist() == [0.7]


@settings(max_examples=examples(60))
@given(
    st.dictionaries(st.integers(-(10**6), 10**6), st.integers(10, 40), min_size=2, max_size=4),
    st.sampled_from([1e-3, 1.0, 100.0]),
)
def test_few_values_are_learnt_as_they_are(counts: dict[int, int], step_s: float) -> None:
    values = [value * step_s for value, count in counts.items() for _ in range(count + 15)]
    learnt = Histogram.from_samples(values)
    assert atoms_of(learnt) == sorted(set(values))
    assert goodness_of_fit(learnt, values).distance == pytest.approx(0, abs=1e-12)


def test_values_that_differ_by_a_floats_last_bit_are_one(rng: Generator) -> None:
    assert atoms_of(Histogram.from_samples([0.3, 0.1 + 0.2] * 25 + rng.normal(0, 1, 50).tolist())) == [0.3]
    assert Histogram.from_samples([0.0, 0.3, 0.1 + 0.2] * 25).mass.tolist() == pytest.approx([1 / 3, 0, 2 / 3])


@pytest.mark.parametrize("scale_s", [0.05, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("buckets", [8, 64, 1000])
@pytest.mark.parametrize("count", [100, 5000])
def test_errors_rounded_to_10_ms_make_no_atoms(scale_s: float, buckets: int, count: int) -> None:
    rng = np.random.default_rng(16)
    for observed in (rng.uniform(-scale_s, scale_s, count), rng.normal(0, scale_s, count)):
        learnt = Histogram.from_samples(observed.round(2), buckets)
        assert atoms_of(learnt) == []
        # half a step where the density is greatest, and what so few samples and buckets are off
        assert goodness_of_fit(learnt, observed).distance < 0.005 / scale_s + 1.5 / math.sqrt(count) + 0.03


def test_a_value_beside_a_long_gap_is_not_spread_over_it() -> None:
    near, far = [0.0, 0.01, 0.02], [5.0, 5.01, 5.02]
    learnt = Histogram.from_samples((near + far) * 30)
    assert atoms_of(learnt) == [0.02, 5.0]
    assert learnt.cdf([0.02, 4.999]).tolist() == pytest.approx([0.5, 0.5])


def test_as_many_values_are_exact_as_there_are_buckets_for(rng: Generator) -> None:
    observed = [0.0] * 30 + [50.0] * 29 + [100.0] * 28 + [151.0] * 27 + [203.0] * 26 + rng.uniform(0, 0.1, 10).tolist()
    for buckets, atoms in zip(range(1, 12), [0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5], strict=True):
        learnt = Histogram.from_samples(observed, buckets)
        assert len(learnt.mass) <= buckets
        assert len(atoms_of(learnt)) == atoms
        assert set(atoms_of(learnt)) <= {0.0, 50.0, 100.0, 151.0, 203.0}


def test_rounded_samples_make_no_atoms(rng: Generator) -> None:
    learnt = Histogram.from_samples(rng.normal(0, 0.003, 5000).round(3))
    assert (np.diff(learnt.edges_s) > 0).all()
    assert learnt.std_s == pytest.approx(0.003, rel=0.1)


def test_equal_samples_are_one_exact_time_and_very_many_are_learnt(rng: Generator) -> None:
    assert Histogram.from_samples([0.25] * 40) == Histogram([0.25, 0.25], [1.0])
    learnt = Histogram.from_samples(rng.exponential(1.0, 300_000), buckets=32)
    assert learnt.quantile(0.5) == pytest.approx(math.log(2), abs=0.02)


@settings(max_examples=examples(40))
@given(samples, st.integers(1, 12), st.randoms())
def test_laws(values: FloatArray, buckets: int, rng) -> None:  # type: ignore[no-untyped-def]
    learnt = Histogram.from_samples(values, buckets)
    assert math.fsum(learnt.mass) == pytest.approx(1.0, abs=1e-15)
    assert 1 <= len(learnt.mass) <= buckets
    assert (learnt.earliest_s, learnt.latest_s) == (values.min(), values.max())
    shuffled = values.tolist()
    rng.shuffle(shuffled)
    assert Histogram.from_samples(shuffled, buckets) == learnt
    later = Histogram.from_samples(values + 64.0, buckets)
    assert np.array_equal(later.edges_s, learnt.edges_s + 64.0)
    assert np.array_equal(later.mass, learnt.mass)
    slower = goodness_of_fit(Histogram.from_samples(values * 4.0, buckets), values * 4.0)
    # a choice between equally good edges may fall the other way: then it is as good
    assert slower.distance == pytest.approx(goodness_of_fit(learnt, values).distance, abs=0.05)


@settings(max_examples=examples(40))
@given(st.lists(st.integers(-40, 40), min_size=LEAST_SAMPLES, max_size=50, unique=True), st.integers(1, 5))
def test_no_other_choice_of_edges_is_better(values: list[int], buckets: int) -> None:
    learnt = Histogram.from_samples(values, buckets)
    edges, gain = best_blocks([float(value) for value in values], buckets)
    cost = 4 - math.log(73.53 * 0.05 * len(values) ** -0.478)
    counts = (learnt.mass * len(values)).round()
    gained = sum(n * math.log(n / t) - cost for n, t in zip(counts, np.diff(learnt.edges_s), strict=True))
    assert learnt.edges_s.tolist() == edges or gain == pytest.approx(gained, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "buckets", "message"),
    [
        ([0.0] * 29, 8, r"samples_s is .*at least 30 samples; there are 29"),
        ([], 8, r"at least 30 samples; there are 0"),
        ([0.0] * 30 + [math.nan], 8, r"samples_s\[30\] is nan: finite and at most 1e\+09 s either way"),
        ([0.0] * 30 + [2e9], 8, r"samples_s\[30\] is 2000000000.0: finite"),
        ([[0.0] * 30], 8, r"samples_s\[0\] is \[0.0, .*\]: a number"),
        ([0.0] * 30 + ["a"], 8, r"samples_s\[30\] is 'a': a number"),
        (5, 8, r"samples_s is 5: a flat list of numbers"),
        ([0.0] * 30, 0, r"buckets is 0: a whole number from 1 to 1000"),
        ([0.0] * 30, True, r"buckets is True"),
    ],
)
def test_what_cannot_be_used_is_refused(values: list[float], buckets: int, message: str) -> None:
    with pytest.raises(HistogramError, match=message):
        Histogram.from_samples(values, buckets)


def test_whole_numbers_may_be_numpys(rng: Generator) -> None:
    values = rng.normal(0, 1, 100)
    eight = np.int64(8)
    assert Histogram.from_samples(values, eight) == Histogram.from_samples(values, 8)  # type: ignore[arg-type]
    assert Histogram.normal(1.0, eight) == Histogram.normal(1.0, 8)  # type: ignore[arg-type]
    u = Histogram.uniform(-4, 4)
    assert goodness_of_fit(u, values, np.int64(50)) == goodness_of_fit(u, values, 50)  # type: ignore[arg-type]


def test_the_distance_counts_both_sides_of_every_jump() -> None:
    either = Histogram([0, 0, 10, 10], [0.5, 0.0, 0.5])
    assert goodness_of_fit(either, [0.0, 10.0]).distance == 0.0
    assert goodness_of_fit(either, [0.0, 0.0, 0.0, 10.0]).distance == 0.25
    impossible = goodness_of_fit(Histogram([0, 0], [1]), [5.0] * 50)
    assert (impossible.count, impossible.outside, impossible.distance) == (50, 50, 1.0)
    # no sample at the atom: the ecdf is 0 up to 10, the cdf 0.5 from 0 on
    assert goodness_of_fit(either, [10.0]).distance == 0.5


def test_p_values_of_a_true_template_are_uniform(rng: Generator) -> None:
    truth = Histogram([-3, -1, 0, 4], [0.2, 0.5, 0.3])
    given_values = [goodness_of_fit(truth, truth.quantile(rng.random(80))).p_value for _ in range(600)]
    assert goodness_of_fit(Histogram.uniform(0, 1), given_values).p_value > 0.001


def test_the_p_value_of_a_learnt_template_allows_for_its_own_scatter(rng: Generator) -> None:
    alike = naive = 0
    for _ in range(60):
        learnt, later = Histogram.from_samples(rng.uniform(0, 1, 300)), rng.uniform(0, 1, 300)
        alike += goodness_of_fit(learnt, later, fitted_to=300).p_value < 0.05
        naive += goodness_of_fit(learnt, later).p_value < 0.05
    assert alike <= min(naive, 8)  # 5 % of 60, and three deviations


def test_a_clock_that_drifted_is_told(rng: Generator) -> None:
    learnt = Histogram.from_samples(rng.normal(0.0, 1.0, 500))
    assert goodness_of_fit(learnt, rng.normal(0.0, 1.0, 500), fitted_to=500).p_value > 0.01
    drifted = goodness_of_fit(learnt, rng.normal(1.0, 1.0, 500), fitted_to=500)
    assert drifted.p_value < 1e-9
    assert drifted.distance == pytest.approx(0.38, abs=0.06)  # 2 cdf(1/2) - 1
    assert drifted.count == 500
    assert 0 < drifted.outside < 50


@pytest.mark.parametrize("fitted_to", [0, -1, True, 1.5])
def test_a_template_is_learnt_from_a_whole_number_of_samples(fitted_to: int) -> None:
    with pytest.raises(HistogramError, match="fitted_to"):
        goodness_of_fit(Histogram.point(), [0.0], fitted_to=fitted_to)


@pytest.mark.parametrize(("count", "share"), [(30, 2 / 30), (300, 2 / 300), (10_000, 1 / 256)])
def test_a_gap_between_clusters_holds_the_samples_beside_it(rng: Generator, count: int, share: float) -> None:
    # said so in docs/adr/0012: the same rule gives outliers their thin bucket
    near, far = rng.uniform(0, 1, count // 2), rng.uniform(100, 101, count // 2)
    clusters = Histogram.from_samples(np.concatenate((near, far)))
    beside_an_atom = Histogram.from_samples(np.concatenate((np.zeros(count // 2), far)))
    assert np.ptp(clusters.cdf([1.5, 99.5])) == pytest.approx(share, rel=0.05)
    assert np.ptp(beside_an_atom.cdf([1.5, 99.5])) == pytest.approx(1 / count, rel=0.05)
