from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram, Window, match_probability, satisfaction_offsets
from coincide.errors import ThresholdError
from tests.reference.offsets import misjudged, probability_at, range_to_try
from tests.reference.templates import MICROSECOND, templates, thresholds, windows

H2 = Histogram([70, 80, 90, 100, 110], [0.15, 0.3, 0.4, 0.15])
H3 = Histogram([170, 190, 200, 210], [0.1, 0.3, 0.6])
POINT = Histogram.point()


def test_the_satisfaction_time_of_example_4() -> None:
    # stime(H3, H2, 0.8) = x + max(H2) for the greatest x with prob(H3 - x >= H2) >= 0.8
    [[_, x_us]] = satisfaction_offsets(H3, H2, Window(lo_s=-1000, hi_s=0), 0.8).tolist()
    assert round(x_us / 1e6 + 110, 4) == 208.5908


def test_exact_times_match_up_to_the_bound_itself() -> None:
    for window_s in (0.1, 0.3, 0.7, 1.1, 86_400.000001):
        bound_us = round(window_s * 1e6)
        for threshold in (1e-9, 0.5, 1.0):
            assert satisfaction_offsets(POINT, POINT, Window(window_s), threshold).tolist() == [[-bound_us, bound_us]]


def test_threshold_one_is_support_containment() -> None:
    u, v = Histogram.uniform(-0.1, 0.2), Histogram([-0.3, 0.0, 0.7], [0.999999, 0.000001])
    # Xv - Xu spans [-0.5, 0.8]: all of it lies within 2 s up to 1.2 s later and 1.5 s earlier
    assert satisfaction_offsets(u, v, Window(2.0), 1.0).tolist() == [[-1_500_000, 1_200_000]]


def test_bounds_that_are_no_whole_microsecond_are_rounded_inwards() -> None:
    u = Histogram([-1.0000004, 2.0000003], [1])
    assert satisfaction_offsets(POINT, u, Window(5), 1.0).tolist() == [[-3_999_999, 2_999_999]]


def test_a_gap_at_the_threshold_is_a_plateau_that_qualifies() -> None:
    # half the mass in [0, 1], half in [9, 10]: P = 1/2 exactly for 8 s of offsets; right end the sup, left the inf
    either = Histogram([0, 1, 9, 10], [0.5, 0.0, 0.5])
    within = Window(lo_s=-100, hi_s=0)
    [[_, greatest]] = satisfaction_offsets(POINT, either, within, 0.5).tolist()
    assert greatest == -1_000_000
    [[least, _]] = satisfaction_offsets(POINT, either, Window(lo_s=0, hi_s=100), 0.5).tolist()
    assert least == -9_000_000


def test_a_short_window_may_give_several_intervals() -> None:
    either = Histogram([0, 1, 9, 10], [0.5, 0.0, 0.5])
    # 0.4 of 0.5 needs 0.8 s of a bucket inside the 2 s window
    assert satisfaction_offsets(POINT, either, Window(1), 0.4).tolist() == [
        [-10_200_000, -8_800_000],
        [-1_200_000, 200_000],
    ]


def test_a_short_window_may_give_nothing() -> None:
    spread = Histogram.uniform(0, 1)
    found = satisfaction_offsets(spread, spread, Window(0.1), 0.9)
    assert found.shape == (0, 2)
    assert found.dtype == np.int64


def test_a_single_offset_can_qualify() -> None:
    # the whole bucket fits the window in one position only
    assert satisfaction_offsets(POINT, Histogram.uniform(-1, 1), Window(1), 1.0).tolist() == [[0, 0]]


def test_an_atom_jumps_over_the_threshold() -> None:
    u = Histogram([-1, 0, 0, 1], [0.2, 0.6, 0.2])
    # the atom, and with it 0.8 of all, is in up to an offset of 5 s
    assert satisfaction_offsets(POINT, u, Window(5), 0.5).tolist() == [[-5_000_000, 5_000_000]]


@pytest.mark.parametrize("threshold", [0, -0.1, 1.0000001, float("nan"), True, "0.5", None])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(ThresholdError, match=r"^threshold is .*above 0 and at most 1"):
        satisfaction_offsets(POINT, POINT, Window(1), threshold)


@given(
    templates(MICROSECOND),
    templates(MICROSECOND),
    windows(MICROSECOND),
    thresholds(),
)
def test_every_microsecond_is_on_the_right_side(u: Histogram, v: Histogram, window: Window, threshold: float) -> None:
    found = satisfaction_offsets(u, v, window, threshold).tolist()
    assert misjudged(u, v, window, threshold, found, range_to_try(u, v, window)) == []
    assert all(lo <= hi for lo, hi in found)
    assert all(found[n][1] + 1 < found[n + 1][0] for n in range(len(found) - 1))


@given(templates(0.37), templates(1.13), windows(0.91), thresholds(), st.data())
def test_ends_and_breaks_are_on_the_right_side(
    u: Histogram, v: Histogram, window: Window, threshold: float, data: st.DataObject
) -> None:
    found = satisfaction_offsets(u, v, window, threshold).tolist()
    ends = [end + step for interval in found for end in interval for step in (-1, 0, 1)]
    corners = [end - b + a for end in (window.lo_s, window.hi_s) for b in v.edges_s for a in u.edges_s]
    breaks = [round(corner * 1e6) + step for corner in corners for step in (-1, 0, 1)]
    tried = ends + data.draw(st.lists(st.sampled_from(breaks), max_size=10))
    for offset in tried:
        assert misjudged(u, v, window, threshold, found, range(offset, offset + 1)) == []


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


@given(templates(), templates(), windows(), thresholds())
def test_probabilities_inside_reach_the_threshold(u: Histogram, v: Histogram, window: Window, threshold: float) -> None:
    for lo, hi in satisfaction_offsets(u, v, window, threshold).tolist():
        inside = match_probability(u, v, np.linspace(lo, hi, 50).round() / 1e6, window)
        assert (inside >= threshold - 1e-12).all()


def _assert_equal_but_for_rounding(
    u: Histogram, v: Histogram, window: Window, threshold: float, one: list[list[int]], other: list[list[int]]
) -> None:
    """Where the two differ, both must be right: P is within 1e-12 of the threshold there."""
    for offset in {end for interval in one + other for end in interval}:
        if _holds(one, offset) != _holds(other, offset):
            assert abs(float(probability_at(u, v, offset, window)) - threshold) <= 1e-12


def _holds(intervals: list[list[int]], offset: int) -> bool:
    return any(lo <= offset <= hi for lo, hi in intervals)
