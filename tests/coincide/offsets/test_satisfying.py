"""The promise of `satisfaction_offsets`, by hand and for any input: P is on the right side of the threshold."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, SatisfactionTable, Window, satisfaction_offsets
from coincide.errors import ThresholdError
from coincide.probability import match_probabilities
from tests.reference.corner_sums import Difference
from tests.reference.offsets import misjudged, probability_at, range_to_try
from tests.reference.templates import MICROSECOND, templates, thresholds, windows

H2 = Histogram([70, 80, 90, 100, 110], [0.15, 0.3, 0.4, 0.15])
H3 = Histogram([170, 190, 200, 210], [0.1, 0.3, 0.6])
POINT = Histogram.point()
EITHER = Histogram([0, 1, 9, 10], [0.5, 0.0, 0.5])


def test_the_satisfaction_time_of_example_4() -> None:
    # stime(H3, H2, 0.8) = x + max(H2) for the greatest x with prob(H3 - x >= H2) >= 0.8
    [[_, x_us]] = satisfaction_offsets(H3, H2, Window(lo_s=-1000, hi_s=0), 0.8).tolist()
    assert round(x_us / 1e6 + 110, 4) == 208.5908


def test_exact_times_match_up_to_the_bound_itself() -> None:
    for window_s in (0.1, 0.3, 0.7, 1.1, 86_400.000001):
        bound_us = round(window_s * 1e6)
        for threshold in (1e-9, 0.5, 1.0):
            assert satisfaction_offsets(POINT, POINT, Window(window_s), threshold).tolist() == [[-bound_us, bound_us]]


@pytest.mark.parametrize(
    ("u", "v", "window", "threshold", "intervals"),
    [
        # certainty is support containment: Xv - Xu spans [-0.5, 0.8], within 2 s up to 1.2 s later and 1.5 s earlier
        (
            Histogram.uniform(-0.1, 0.2),
            Histogram([-0.3, 0.0, 0.7], [0.999999, 0.000001]),
            Window(2.0),
            1.0,
            [[-1_500_000, 1_200_000]],
        ),
        # bounds that are no whole microsecond are rounded inwards
        (POINT, Histogram([-1.0000004, 2.0000003], [1]), Window(5), 1.0, [[-3_999_999, 2_999_999]]),
        # a short window may give several intervals: 0.4 of 0.5 needs 0.8 s of a bucket inside the 2 s window
        (POINT, EITHER, Window(1), 0.4, [[-10_200_000, -8_800_000], [-1_200_000, 200_000]]),
        # a single offset can qualify: the whole bucket fits the window in one position only
        (POINT, Histogram.uniform(-1, 1), Window(1), 1.0, [[0, 0]]),
        # an atom jumps over the threshold: it, and with it 0.8 of all, is in up to an offset of 5 s
        (POINT, Histogram([-1, 0, 0, 1], [0.2, 0.6, 0.2]), Window(5), 0.5, [[-5_000_000, 5_000_000]]),
    ],
)
def test_by_hand(u: Histogram, v: Histogram, window: Window, threshold: float, intervals: list[list[int]]) -> None:
    assert satisfaction_offsets(u, v, window, threshold).tolist() == intervals


def test_a_gap_at_the_threshold_is_a_plateau_that_qualifies() -> None:
    # half the mass in [0, 1], half in [9, 10]: P = 1/2 exactly for 8 s of offsets; right end the sup, left the inf
    [[_, greatest]] = satisfaction_offsets(POINT, EITHER, Window(lo_s=-100, hi_s=0), 0.5).tolist()
    assert greatest == -1_000_000
    [[least, _]] = satisfaction_offsets(POINT, EITHER, Window(lo_s=0, hi_s=100), 0.5).tolist()
    assert least == -9_000_000


def test_a_short_window_may_give_nothing() -> None:
    spread = Histogram.uniform(0, 1)
    found = satisfaction_offsets(spread, spread, Window(0.1), 0.9)
    assert found.shape == (0, 2)
    assert found.dtype == np.int64


@pytest.mark.parametrize("threshold", [0, -0.1, 1.0000001, float("nan"), True, "0.5", None])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(ThresholdError, match=r"^threshold is .*above 0 and at most 1"):
        satisfaction_offsets(POINT, POINT, Window(1), threshold)


@given(templates(MICROSECOND), templates(MICROSECOND), windows(MICROSECOND), thresholds())
def test_every_microsecond_is_on_the_right_side(u: Histogram, v: Histogram, window: Window, threshold: float) -> None:
    found = satisfaction_offsets(u, v, window, threshold).tolist()
    assert misjudged(u, v, window, threshold, found, range_to_try(u, v, window)) == []
    assert all(lo <= hi for lo, hi in found)
    assert all(found[n][1] + 1 < found[n + 1][0] for n in range(len(found) - 1))


@given(templates(), templates(), windows(), thresholds())
def test_swapping_the_streams_mirrors_the_offsets(u: Histogram, v: Histogram, window: Window, threshold: float) -> None:
    there = satisfaction_offsets(u, v, window, threshold)
    back = satisfaction_offsets(v, u, window.swapped(), threshold)
    _assert_equal_but_for_rounding(u, v, window, threshold, there.tolist(), (-back[::-1, ::-1]).tolist())


@given(templates(), templates(), windows(), thresholds(), st.integers(-50, 50))
def test_shifting_a_template_shifts_the_offsets(
    u: Histogram, v: Histogram, window: Window, threshold: float, by_s: int
) -> None:
    here = satisfaction_offsets(u, v, window, threshold)
    moved = satisfaction_offsets(u, v.shift(by_s), window, threshold) + by_s * 1_000_000
    _assert_equal_but_for_rounding(u, v, window, threshold, here.tolist(), moved.tolist())


@given(templates(), templates(), windows(), thresholds(), thresholds())
def test_a_lower_threshold_keeps_every_offset(
    u: Histogram, v: Histogram, window: Window, one: float, other: float
) -> None:
    strict = satisfaction_offsets(u, v, window, max(one, other)).tolist()
    loose = satisfaction_offsets(u, v, window, min(one, other)).tolist()
    assert all(any(lo <= s_lo and s_hi <= hi for lo, hi in loose) for s_lo, s_hi in strict)


def _assert_equal_but_for_rounding(
    u: Histogram, v: Histogram, window: Window, threshold: float, one: list[list[int]], other: list[list[int]]
) -> None:
    """Where the two differ, both must be right: P is within 1e-12 of the threshold there."""
    for offset in {end for interval in one + other for end in interval}:
        if _holds(one, offset) != _holds(other, offset):
            assert abs(float(probability_at(u, v, offset, window)) - threshold) <= 1e-12


def _holds(intervals: list[list[int]], offset: int) -> bool:
    return any(lo <= offset <= hi for lo, hi in intervals)


HARD_TEMPLATES = [
    Histogram.point(),
    Histogram([0.0, 1e-6, 1.0, 1e3], [0.5, 0.25, 0.25]),  # a spike beside plateaus
    Histogram([-1e6, -1e6 + 1e-3, 0.0, 1e6], [0.125, 0.5, 0.375]),  # very short beside very long
    Histogram([-1, -1, 0, 0, 0.3, 0.3, 5], [0.1, 0.2, 0.3, 0.1, 0.2, 0.1]),  # atoms beside spreads
    Histogram([*range(0, 34, 2), 50], [0.0625, 0.0] * 8 + [0.5]),  # gaps: plateaus at many probabilities
    Histogram([1e6, 1e6 + 1e-6, 1e6 + 0.1, 1e6 + 7], [0.25, 0.5, 0.25]),  # far from 0
    Histogram([0.1 + 0.2, 0.1 + 0.2 + 1e-6, 0.9, 0.9 + 1.1e-6], [0.4, 0.2, 0.4]),  # edges that nearly meet
    Histogram([0, 1, 2, 3], [0.25 + 1e-12, 0.5, 0.25]),  # a mass off by 1e-12
    Histogram([0, 1e-6, 2e-6, 4e-6], [0.5, 0.0, 0.5]),  # a few microseconds long
    Histogram([0, 1, 2], [1 - 1e-13, 1e-13]),  # a mass below the tolerance
]
HARD_WINDOWS = [
    Window(5),
    Window(0),
    Window(1e-6),
    Window(lo_s=0.1, hi_s=1.1),
    Window(lo_s=3, hi_s=2e6),
    Window(lo_s=-1e9, hi_s=0.3),
]
HARD_THRESHOLDS = [1e-300, 1e-12, 1e-9, 1 / 3, 0.5, 1 - 1e-9, 1 - 1e-12, 1.0]


def assert_promise_kept(u: Histogram, v: Histogram, window: Window, threshold: float) -> None:
    found = satisfaction_offsets(u, v, window, threshold).tolist()
    exact = Difference(u, v, window)
    assert exact.misjudged(threshold, found) == []
    assert all(lo <= hi for lo, hi in found)
    assert all(found[n][1] + 1 < found[n + 1][0] for n in range(len(found) - 1))
    if threshold == 1.0:
        assert exact.missed_certainties(u, v, found) == []


def threshold_at_a_break(u: Histogram, v: Histogram, window: Window, rng: random.Random) -> float:
    """A threshold that P has, but for rounding or a few 1e-13, where it bends: on a plateau, or where it turns."""
    exact = Difference(u, v, window)
    breaks = exact.breaks()
    place = rng.choice([*breaks, *exact.turning_points(breaks)]) // exact.microsecond
    off = rng.choice([0.0, 1e-16, -1e-16, 9e-13, -9e-13, 1.1e-12, -1.1e-12])
    return min(1.0, max(1e-9, float(exact.probability(place)) + off))


@pytest.mark.parametrize("window", HARD_WINDOWS, ids=str)
def test_hard_inputs(window: Window) -> None:
    rng = random.Random(str(window))
    for _ in range(20):
        u, v = rng.choice(HARD_TEMPLATES), rng.choice(HARD_TEMPLATES)
        assert_promise_kept(u, v, window, rng.choice([*HARD_THRESHOLDS, threshold_at_a_break(u, v, window, rng)]))


# Found by 50,000 random cases: one verdict among those within rounding of the threshold hid a crossing further on,
# and up to a minute of offsets with P 6e-9 above the threshold was left out.
HIDDEN_CROSSINGS = [
    (
        Histogram(
            [123456.789, 123456.79000000001, 1123456.79, 1223456.79, 1223456.7900035244, 1323456.7900035244],
            [0.375, 0.125, 0.25, 0.125, 0.125],
        ),
        Histogram.uniform(-1000.0, 999000.0),
        Window(lo_s=0.1, hi_s=1.1),
        4.874992422185972e-07,
    ),
    (
        Histogram([100000.0, 100000.00023855518, 101000.00023855518], [0.1, 0.9]),
        Histogram([1e6, 2e6, 2001000.0, 2001001.0, 2001001.0, 2001001.000001], [2 / 7, 0.0, 0.0, 2 / 7, 3 / 7]),
        Window(lo_s=-9.814292458101804, hi_s=8.636860005713366),
        5.27175334164626e-06,
    ),
]


@pytest.mark.parametrize(("u", "v", "window", "threshold"), HIDDEN_CROSSINGS)
def test_a_verdict_within_rounding_hides_no_crossing(
    u: Histogram, v: Histogram, window: Window, threshold: float
) -> None:
    assert_promise_kept(u, v, window, threshold)


def test_very_many_equal_terms_add_up() -> None:
    # equal buckets are one; summed one after the other a thousand of them were 1.4e-11 off
    fine, whole = Histogram(np.arange(501.0), np.full(500, 0.002)), Histogram.uniform(0, 500)
    window, threshold = Window(lo_s=-1e4, hi_s=250), 1 - 1e-9
    exact = Difference(whole, whole, window)
    offsets = [-249_000_000, -200_000_000, 0, 350_000_000]
    computed = match_probabilities([fine], [fine], [0] * 4, [0] * 4, offsets, window)
    assert computed == pytest.approx([float(exact.probability(offset)) for offset in offsets], abs=1e-14)
    assert exact.misjudged(threshold, satisfaction_offsets(fine, fine, window, threshold).tolist()) == []


def test_a_thousand_buckets_against_a_few() -> None:
    rng = np.random.default_rng(3)
    lengths, mass = 10 ** rng.uniform(-5, 2, 1000), rng.random(1000) * (rng.random(1000) < 0.7)
    mass[[0, -1]] = 0.5
    many = Histogram(np.concatenate(([-3e3], -3e3 + np.cumsum(lengths))), mass / mass.sum())
    assert_promise_kept(many, Histogram([0, 0, 5], [0.3, 0.7]), Window(lo_s=0, hi_s=20), 0.001)


def test_many_terms_add_up_alike_for_one_pair_and_for_several() -> None:
    wide = [Histogram.normal(sigma_s, buckets=30) for sigma_s in (1.0, 1.7, 2.9)]
    for window in (Window(20), Window(1)):
        table = SatisfactionTable.build(wide, wide, window, 0.3)
        alone = [satisfaction_offsets(u, v, window, 0.3) for u in wide for v in wide]
        assert np.array_equal(table.intervals_us, np.concatenate(alone))


@settings(max_examples=40)
@given(templates(0.37), templates(1.13), windows(0.91), thresholds(), st.randoms())
def test_every_offset_is_on_the_right_side(
    u: Histogram, v: Histogram, window: Window, threshold: float, rng: random.Random
) -> None:
    assert_promise_kept(u, v, window, threshold)
    assert_promise_kept(u, v, window, threshold_at_a_break(u, v, window, rng))


@given(templates(0.37), templates(1.13), windows(0.91), st.integers(-(10**8), 10**8))
def test_two_independent_twins_agree(u: Histogram, v: Histogram, window: Window, offset_us: int) -> None:
    exact = Difference(u, v, window).probability(offset_us)
    assert abs(exact - probability_at(u, v, offset_us, window)) < 1e-50
