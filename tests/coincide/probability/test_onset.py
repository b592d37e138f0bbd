import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import CoincideError, Histogram, Occurred, Window, match_probability, occurred
from coincide.clocks import Clock
from coincide.errors import OffsetError, WindowError
from coincide.probability import match_probabilities, occurred_quantiles_us, occurrence_columns
from coincide.probability.joint.tuples import EventTuples
from coincide.probability.onset_columns import occurrence_within
from tests.examples import examples
from tests.reference.posterior import ExactPosterior
from tests.reference.templates import MICROSECOND, templates, windows

IMB, KAMIOKANDE, BAKSAN = Histogram.uniform(-0.05, 0.05), Histogram.uniform(-60, 60), Histogram.uniform(-54, 2)


def assert_it_equals_fractions(members: list[Histogram], times_us: list[int], window: Window) -> None:
    exact = ExactPosterior(members, times_us, window)
    if exact.mass == 0:
        with pytest.raises(OffsetError):
            occurred(members, times_us, window)
        return
    onset = occurred(members, times_us, window)
    rounding, slack = Fraction(1, 10**12), Fraction(1, 2 * 10**6) * Fraction(101, 100)
    assert abs(Fraction(onset.probability) - exact.mass) < rounding
    assert abs(onset.mean_us - exact.mean * 10**6) <= 0.5 + 1e-3
    assert onset.std_s == pytest.approx(math.sqrt(exact.variance), abs=1e-7, rel=1e-9)
    for p, quantile_us in ((Fraction(5, 100), onset.p05_us), (Fraction(95, 100), onset.p95_us)):
        # the mass reaches p within half a microsecond: not before, and not after
        at = Fraction(quantile_us, 10**6)
        assert exact.up_to(at - slack) <= (p + rounding) * exact.mass
        assert exact.up_to(at + slack) >= (p - rounding) * exact.mass


@given(st.data(), windows())
@settings(max_examples=examples(30))
def test_quantiles_are_those_of_the_exact_posterior(data: st.DataObject, window: Window) -> None:
    count = data.draw(st.integers(2, 3)) if window.is_symmetric else 2
    members = [data.draw(templates()) for _ in range(count)]
    times_us = [data.draw(st.integers(-3_000_000, 3_000_000)) for _ in range(count)]
    exact = ExactPosterior(members, times_us, window)
    shares = [0.01, 0.3, 0.7, 0.99]
    if exact.mass < Fraction(1, 10**6):
        return
    slack = Fraction(1, 2 * 10**6) * Fraction(101, 100)
    found = occurred_quantiles_us(members, times_us, window, shares)
    assert found == sorted(found)
    for share, quantile_us in zip(shares, found, strict=True):
        at, wanted = Fraction(quantile_us, 10**6), Fraction(share) * exact.mass
        assert exact.up_to(at - slack) <= wanted + Fraction(1, 10**9)
        assert exact.up_to(at + slack) >= wanted - Fraction(1, 10**9)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(OffsetError, match="shares from 0 to 1"):
        occurred_quantiles_us([IMB, BAKSAN], [0, 30_444_000], Window(10), [share])


def test_when_the_neutrinos_of_sn1987a_were_seen() -> None:
    # Baksan's clock: uniform over [-23.556, 32.444] s after IMB's report, 10 s either side of IMB's are left. With
    # probability 1/2 Baksan was first, uniform over the 10 s before; else IMB was, at its report.
    onset = occurred([IMB, BAKSAN], [41_374_000, 71_818_000], Window(10))
    assert onset.probability == pytest.approx(20 / 56, abs=1e-14)
    assert (onset.mean_us, onset.p05_us) == (41_374_000 - 2_500_000, 41_374_000 - 9_000_000)
    assert (round(onset.std_s, 3), round((onset.p95_us - 41_374_000) / 1e6, 3)) == (3.228, 0.040)
    # all three first events within 10 s: 5/112
    all_three = occurred([IMB, BAKSAN, KAMIOKANDE], [41_374_000, 71_818_000, 35_000_000], Window(10))
    assert all_three.probability == pytest.approx(5 / 112, abs=1e-14)


def test_an_exact_time_is_when_it_occurred() -> None:
    point = Histogram.point()
    for times_us, window, when_us in [
        ([7, 3_000_000], Window(5), 7),
        ([3_000_000, 7], Window(5), 7),
        ([3_000_000, 7], Window(lo_s=-4, hi_s=0), 3_000_000),  # the anchor is the first role, though it comes later
    ]:
        assert occurred([point, point], times_us, window) == Occurred(when_us, 0.0, when_us, when_us, 1.0)


def test_two_exact_times_that_tie_are_one_onset() -> None:
    either = Histogram([0, 0, 1, 1], [0.5, 0, 0.5])
    # (0, 0), (0, 1), (1, 0), (1, 1), a quarter each: the onset is 0 three times out of four
    onset = occurred([either, either], [0, 0], Window(1))
    assert (onset.mean_us, onset.p05_us, onset.p95_us, onset.probability) == (250_000, 0, 1_000_000, 1.0)
    assert onset.std_s == pytest.approx(math.sqrt(3) / 4)
    # within 0 s: only those that tie
    tied = occurred([either, either], [0, 0], Window(0))
    assert (tied.mean_us, tied.p05_us, tied.p95_us, tied.probability) == (500_000, 0, 1_000_000, 0.5)


def test_a_template_with_a_gap_keeps_it() -> None:
    either = Histogram([0, 1, 9, 10], [0.5, 0, 0.5])
    onset = occurred([either, Histogram.uniform(-50, 50)], [0, 0], Window(lo_s=-1, hi_s=2))
    assert 0 <= onset.p05_us <= 1_000_000
    assert 9_000_000 <= onset.p95_us <= 10_000_000


Case = tuple[Histogram, Histogram, Window, int]
cases: st.SearchStrategy[Case] = st.one_of(
    st.tuples(templates(), templates(), windows(), st.integers(-40_000_000, 40_000_000)),
    st.tuples(templates(), templates(), windows(), st.integers(-40, 40).map(lambda s: s * 10**6)),  # atoms that meet
    st.tuples(templates(MICROSECOND), templates(), windows(MICROSECOND * 1000), st.integers(-20_000_000, 20_000_000)),
)


@settings(max_examples=examples(150))
@given(cases)
def test_a_pair_equals_exact_fractions(case: Case) -> None:
    u, v, window, offset_us = case
    assert_it_equals_fractions([u, v], [0, offset_us], window)


lengths = st.tuples(st.integers(2, 999), st.integers(1, 10**6), st.integers(-(10**6), 10**6))


@given(lengths, st.floats(-1, 1), st.sampled_from([0.3, 1e5]))
def test_a_microsecond_beside_a_week_loses_nothing(sizes: tuple[int, int, int], at: float, half_width_s: float) -> None:
    short_us, long_s, far_s = sizes
    u = Histogram([far_s + 0.1, far_s + 0.1 + short_us / 1e6, far_s + 0.1 + long_s], [0.5, 0.5])
    v = Histogram.uniform(0.0, 3e-6)
    offset_us = round((u.earliest_s + half_width_s) * 1e6 + at * short_us)
    onsets = occurrence_columns([[u], [v]], [[0], [0]], [[0], [offset_us]], Window(half_width_s))
    [probability] = match_probabilities([u], [v], [0], [0], [offset_us], Window(half_width_s))
    assert onsets.probability[0] == pytest.approx(probability, abs=1e-12)
    assert probability > 0.0


@settings(max_examples=examples(25))
@given(st.lists(templates(), min_size=3, max_size=4), st.integers(0, 20), st.tuples(*[st.integers(-20, 20)] * 4))
def test_a_clique_equals_exact_fractions(members: list[Histogram], half_width_s: int, at_s: tuple[int, ...]) -> None:
    times_us = [s * 10**6 for s in at_s[: len(members)]]
    assert_it_equals_fractions(members, times_us, Window(half_width_s))


@given(templates(), templates(), windows(), st.integers(-40, 40), st.integers(-(2**50), 2**50))
def test_later_reports_of_the_same_make_it_later_by_as_much(
    u: Histogram, v: Histogram, window: Window, offset_s: int, by_us: int
) -> None:
    times_us = np.array([[0], [offset_s * 10**6]])
    here, there = (occurrence_columns([[u], [v]], [[0], [0]], times_us + by, window) for by in (0, by_us))
    if here.probability[0] > 0:
        for name in ("mean_us", "p05_us", "p95_us"):
            assert getattr(there, name)[0] == getattr(here, name)[0] + by_us
    assert there.std_s[0] == here.std_s[0]


@given(templates(), templates(), st.integers(0, 30), st.integers(-30, 30))
def test_in_a_symmetric_window_the_roles_do_not_matter(u: Histogram, v: Histogram, d: int, offset_s: int) -> None:
    times_us = [0, offset_s * 10**6]
    if match_probability(u, v, float(offset_s), Window(d)) == 0:
        return
    there, back = occurred([u, v], times_us, Window(d)), occurred([v, u], times_us[::-1], Window(d))
    assert abs(there.mean_us - back.mean_us) <= 1
    assert there.std_s == pytest.approx(back.std_s, abs=1e-8)
    assert abs(there.p05_us - back.p05_us) <= 1


@pytest.mark.parametrize("window", [Window(3.0), Window(lo_s=-1.0, hi_s=4.0)])
def test_it_is_the_distribution_of_simulated_matches(rng: Generator, window: Window) -> None:
    u, v = Histogram([-6, -2, -1, 0], [0.3, 0.1, 0.6]), Histogram([-4, -3, 1, 3], [0.5, 0, 0.5])
    xa, xb = u.quantile(rng.uniform(size=400_000)), v.quantile(rng.uniform(size=400_000)) + 1.5
    matched = (xb - xa >= window.lo_s) & (xb - xa <= window.hi_s)
    when_s = (np.minimum(xa, xb) if window.is_symmetric else xa)[matched]
    onset = occurred([u, v], [0, 1_500_000], window)
    assert onset.probability == pytest.approx(matched.mean(), abs=0.004)  # 5 sigma of 400,000 draws
    assert onset.mean_us / 1e6 == pytest.approx(when_s.mean(), abs=5 * onset.std_s / math.sqrt(len(when_s)))
    assert onset.std_s == pytest.approx(when_s.std(), rel=0.01)
    for p, quantile_us in ((0.05, onset.p05_us), (0.95, onset.p95_us)):
        assert np.mean(when_s <= quantile_us / 1e6) == pytest.approx(p, abs=0.003)


def test_an_improbable_match_has_a_time_too() -> None:
    # b reaches 1 ms into a's window: P = 1e-6 / 2; the density rises and falls as a triangle's corner
    onset = occurred([Histogram.uniform(0, 1)] * 2, [0, 1_999_000], Window(1))
    assert onset.probability == pytest.approx(0.5e-6, rel=1e-9)
    assert onset.mean_us == pytest.approx(1e6 - 1e3 / 3, abs=0.5)


def test_many_at_once_equal_each_alone_bit_for_bit(rng: Generator) -> None:
    atom = Histogram([0, 0, 2, 3], [0.2, 0.3, 0.5])
    us = [Histogram.normal(1.0, 8), Histogram.point(), Histogram.uniform(-3, 1), atom]
    index, times_us = rng.integers(4, size=(2, 500)), rng.integers(-2_000_000, 2_000_000, (2, 500))
    for window in (Window(2.5), Window(lo_s=-0.5, hi_s=2)):
        together = occurrence_columns([us, us], index, times_us, window)
        assert (together.probability > 0.01).mean() > 0.5
        for n in range(0, 500, 7):
            alone = occurrence_columns([us, us], index[:, [n]], times_us[:, [n]], window)
            for name in vars(alone):
                assert getattr(alone, name)[0] == getattr(together, name)[n]


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(2, 3), st.integers(0, 2**32 - 1))
def test_in_windows_of_their_own_all_at_once_equal_each_alone_bit_for_bit(members: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    atom = Histogram([0, 0, 2, 3], [0.2, 0.3, 0.5])
    gateway = Clock("gw", Histogram.uniform(-2, 2)).template(Histogram.uniform(-0.1, 0.1))
    known = [Histogram.normal(1.0, 8), Histogram.point(), Histogram.uniform(-3, 1), atom, gateway]
    index, times_us = rng.integers(5, size=(members, 12)), rng.integers(-2_000_000, 2_000_000, (members, 12))
    half_width_s = rng.choice([0, 300, 1_700, 2_500, 40_000], 12) / 1000
    tuples, tell = EventTuples([known] * members, index, times_us), rng.random(12) < 0.5
    together = occurrence_within(tuples, half_width_s, tell)
    for n in range(12):
        alone = occurrence_columns(
            [known] * members, index[:, [n]], times_us[:, [n]], Window(half_width_s[n]), tell[[n]]
        )
        for name in vars(alone):
            assert getattr(alone, name)[0] == getattr(together, name)[n]


def test_what_cannot_be_a_match_is_refused() -> None:
    point = Histogram.point()
    for members, times_us, message in [
        (2, [0, 2_000_000], "can lie in the window"),
        (2, [0], "one time for each of 2 templates"),
        (2, [0, 0.5], "whole microseconds"),
        (2, [0, True], "whole microseconds"),
        (1, [0], "two or more"),
    ]:
        with pytest.raises(OffsetError, match=message):
            occurred([point] * members, times_us, Window(1))  # type: ignore[arg-type]
    assert occurred([point, point], np.array([5, 5]), Window(1)).mean_us == 5  # type: ignore[arg-type]
    with pytest.raises(WindowError, match="symmetric, for 3 members"):
        occurred([point] * 3, [0, 0, 0], Window(lo_s=0, hi_s=1))
    assert len(occurrence_columns([[point], [point]], np.empty((2, 0)), np.empty((2, 0)), Window(1))) == 0


@pytest.mark.parametrize(
    ("template_index", "detected_at_us", "message"),
    [
        ([[0], [-1]], [[0], [0]], r"template_index\[1\] is -1: a position among 1 templates"),
        ([[1], [0]], [[0], [0]], r"template_index\[0\] is 1: a position among 1 templates"),
        ([[0.0], [0]], [[0], [0]], "template_index is 'an array of float64"),
        ([[0]], [[0]], "template_index is .* of shape"),
        ([0, 0], [[0], [0]], "template_index is .* of shape"),
        ([[0], [0]], [[0.0], [0.5]], "detected_at_us is 'an array of float64"),
        ([[0], [0]], [[0, 1], [0, 1]], r"detected_at_us is .* an array of shape \(2, 1\)"),
    ],
)
def test_columns_that_name_no_matches_are_refused(
    template_index: list[list[int]], detected_at_us: list[list[int]], message: str
) -> None:
    with pytest.raises(CoincideError, match=message):
        occurrence_columns([[Histogram.point()]] * 2, template_index, detected_at_us, Window(1))
