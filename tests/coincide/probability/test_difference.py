import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import CoincideError, Histogram, Window, match_probability
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.errors import OffsetError
from coincide.probability import match_probabilities
from tests.reference.difference import exact_probability
from tests.reference.integration import integrated_probability
from tests.reference.templates import templates, windows

# Example 3 of the paper: the histogram timestamps of its events a2 and a3
H2 = Histogram([70, 80, 90, 100, 110], [0.15, 0.3, 0.4, 0.15])
H3 = Histogram([170, 190, 200, 210], [0.1, 0.3, 0.6])


@pytest.mark.parametrize(("earlier_s", "probability"), [(90, 0.925), (100, 0.76875)])
def test_example_4_of_the_paper(earlier_s: float, probability: float) -> None:
    # prob(H3 - x >= H2) = P(X2 - X3 <= -x); no difference is below -1000
    at_least = match_probability(H3, H2, 0.0, Window(lo_s=-1000, hi_s=-earlier_s))
    assert at_least == pytest.approx(probability, abs=1e-14)


def test_the_first_neutrinos_of_sn1987a() -> None:
    kamiokande, imb, baksan = Histogram.uniform(-60, 60), Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2)
    # reported at 07:35:35, 07:35:41.374 and 07:36:11.818
    assert match_probability(imb, baksan, 30.444, Window(10)) == pytest.approx(20 / 56, abs=1e-14)
    assert match_probability(imb, kamiokande, -6.374, Window(10)) == pytest.approx(20 / 120, abs=1e-14)
    assert match_probability(imb, baksan, 30.444, Window(10)) != match_probability(imb, baksan, -30.444, Window(10))


def test_an_exact_time_on_the_bound_is_inside_and_a_window_of_no_length_holds_nothing_else() -> None:
    point = Histogram.point()
    # 0.3 is a little less than three tenths as a float, 0.1 + 0.2 a little more
    for offset_s in (0.3, 0.1 + 0.2, -0.3):
        assert match_probability(point, point, offset_s, Window(0.3)) == 1.0
    assert match_probabilities([point], [point], [0, 0], [0, 0], [300_000, 300_001], Window(0.3)).tolist() == [1.0, 0.0]
    others = point, Histogram.uniform(-1, 1)
    assert [match_probability(point, other, 0.0, Window(0.0)) for other in others] == [1.0, 0.0]


def test_offsets_keep_their_shape() -> None:
    u = Histogram.uniform(0, 1)
    assert isinstance(match_probability(u, u, 0.0, Window(1)), float)
    assert match_probability(u, u, np.zeros((2, 3)), Window(1)).shape == (2, 3)
    assert match_probability(u, u, [], Window(1)).shape == (0,)
    assert match_probabilities([u], [u], [], [], [], Window(1)).shape == (0,)


@pytest.mark.parametrize(
    ("u_index", "v_index", "offset_us", "message"),
    [
        ([-1], [0], [0], "u_index is -1: a position among 1 templates"),
        ([0], [2], [0], "v_index is 2: a position among 2 templates"),
        ([0.0], [0], [0], "u_index is 'an array of float64"),
        ([True], [0], [0], "u_index is 'an array of bool"),
        ([0], [0], [0.5], "offset_us is 'an array of float64"),
        ([0], [0], [2**53], "offset_us is 9007199254740992: microseconds, below"),
        ([0], [0], [-(2**63)], "offset_us is -9223372036854775808: microseconds, below"),
        ([0], [0], [2**63], "offset_us is 'an array of uint64"),
        ([0, 0], [0], [0, 0], "v_index is .* an array of shape \\(2,\\)"),
        ([0, 0], [0, 1], [0], "offset_us is .* an array of shape \\(2,\\)"),
        ([[0]], [[0]], [[0]], "u_index is .* an array of shape \\(1,\\)"),
    ],
)
def test_what_names_no_pairs_is_refused(
    u_index: list[int], v_index: list[int], offset_us: list[int], message: str
) -> None:
    with pytest.raises(CoincideError, match=message):
        match_probabilities([Histogram.point()], [Histogram.point()] * 2, u_index, v_index, offset_us, Window(1))


def test_many_offsets_of_one_pair_agree_with_each_alone() -> None:
    # more than one step of the kernel
    u, v, window = Histogram.normal(3.0, 8), Histogram.normal(1.0, 7), Window(lo_s=-1, hi_s=2)
    offsets = np.linspace(-20, 20, 5001)
    together = match_probability(u, v, offsets, window)
    for n in range(0, 5001, 500):
        assert together[n] == pytest.approx(match_probability(u, v, offsets[n], window), abs=1e-15)


@pytest.mark.parametrize("offset", [math.nan, math.inf, [0.0, -math.inf]])
def test_an_offset_that_is_no_time_is_refused(offset: float | list[float]) -> None:
    with pytest.raises(OffsetError, match=r"^offset_s is "):
        match_probability(H2, H3, offset, Window(1))


@given(templates(), templates(), windows(), st.integers(-60_000_000, 60_000_000))
def test_it_equals_exact_fractions(u: Histogram, v: Histogram, window: Window, offset_us: int) -> None:
    assert_it_equals_exact_fractions(u, v, offset_us, window)


def assert_it_equals_exact_fractions(u: Histogram, v: Histogram, offset_us: int, window: Window) -> None:
    [probability] = match_probabilities([u], [v], [0], [0], [offset_us], window)
    assert abs(Fraction(probability) - exact_probability(u, v, Fraction(offset_us, 10**6), window)) < Fraction(
        1, 10**13
    )
    assert 0.0 <= probability <= 1.0


@given(st.integers(2, 999), st.integers(1, 10**6), st.integers(-(10**6), 10**6), st.floats(0.0, 1.0))
def test_a_microsecond_beside_a_week_loses_nothing(short_us: int, long_s: int, far_s: int, at: float) -> None:
    # plain float subtraction would be off by up to 1e-10 s of 1e-6 s here
    edges_s = [far_s + 0.1, far_s + 0.1 + short_us / 1e6, far_s + 0.1 + long_s]
    offset_us = round(edges_s[0] * 1e6 + at * short_us)
    window = Window(lo_s=-3e7, hi_s=0.0)
    assert_it_equals_exact_fractions(Histogram(edges_s, [0.5, 0.5]), Histogram.point(), offset_us, window)


@given(templates(), templates(), windows(), st.integers(-60, 60))
def test_swapping_the_streams_mirrors_the_window(u: Histogram, v: Histogram, window: Window, offset_s: int) -> None:
    there = match_probability(u, v, float(offset_s), window)
    back = match_probability(v, u, float(-offset_s), window.swapped())
    assert there == pytest.approx(back, abs=1e-13)


@given(templates(), templates(), windows(), st.integers(-60, 60), st.integers(-100, 100))
def test_only_the_difference_counts(u: Histogram, v: Histogram, window: Window, offset_s: int, by_s: int) -> None:
    here = match_probability(u, v, float(offset_s), window)
    assert match_probability(u.shift(by_s), v.shift(by_s), float(offset_s), window) == pytest.approx(here, abs=1e-13)
    assert match_probability(u, v.shift(by_s), float(offset_s - by_s), window) == pytest.approx(here, abs=1e-13)


def test_a_hundred_thousand_random_pairs_equal_an_independent_integration(rng: Generator) -> None:
    for buckets_u, buckets_v in [(1, 1), (1, 8), (3, 5), (4, 4), (8, 8)]:
        us, vs = ([_random_template(rng, k) for _ in range(200)] for k in (buckets_u, buckets_v))
        u_index, v_index = rng.integers(200, size=(2, 20_000))
        offset_us = rng.integers(-30_000_000, 30_000_000, 20_000)
        window = Window(lo_s=float(rng.uniform(-10, 0)), hi_s=float(rng.uniform(0, 10)))
        probability = match_probabilities(us, vs, u_index, v_index, offset_us, window)
        blocks = []
        for rows in np.array_split(np.arange(20_000), 10):
            sides = *_stacked(us, u_index[rows]), *_stacked(vs, v_index[rows])
            ends_s = (end_s - offset_us[rows] / 1e6 for end_s in (window.lo_s, window.hi_s))
            blocks.append(integrated_probability(*sides, *ends_s))
        assert np.abs(probability - np.concatenate(blocks)).max() < 1e-12
        assert 0.05 < probability.mean() < 0.95  # the comparison is about something


def _random_template(rng: Generator, buckets: int) -> Histogram:
    edges_s = np.cumsum(rng.uniform(0.1, 5.0, buckets + 1)) - rng.uniform(0, 15)
    return Histogram(edges_s, rng.dirichlet(np.ones(buckets)))


def _stacked(templates: list[Histogram], index: Int64Array) -> tuple[FloatArray, FloatArray]:
    return np.stack([templates[i].edges_s for i in index]), np.stack([templates[i].mass for i in index])
