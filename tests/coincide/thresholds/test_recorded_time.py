import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coincide.thresholds import RecordedTime, recorded_time
from coincide.thresholds.recorded_times import PAUSE

reports = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40)
lengths = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20)), min_size=1, max_size=6)


def slow_stretches(at_us: list[int], busiest: int) -> list[tuple[int, int]]:
    ascending, found = sorted(at_us), list[tuple[int, int]]()
    longest = PAUSE * (ascending[-1] - ascending[0]) / busiest
    for at in ascending:
        if found and at - found[-1][1] <= longest:
            found[-1] = (found[-1][0], at)
        else:
            found.append((at, at))
    return found


@given(reports, st.integers(1, 10_000))
def test_stretches_are_those_of_the_definition(at_us: list[int], busiest: int) -> None:
    of = recorded_time(np.array(at_us), busiest)
    stretches = slow_stretches(at_us, busiest)
    assert list(zip(of.first_us.tolist(), of.last_us.tolist(), strict=True)) == stretches
    assert of.seconds * 1e6 == float(sum(last - first for first, last in stretches))
    assert (of.pauses, of.span_s * 1e6) == (len(stretches) - 1, float(max(at_us) - min(at_us)))


@given(reports, st.integers(1, 20))
def test_who_reports_rarely_has_no_pauses(at_us: list[int], busiest: int) -> None:
    assert recorded_time(np.array(at_us), busiest).pauses == 0


@given(lengths, st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_turning_moves_recorded_moments_round_in_their_order(
    gaps_and_lengths: list[tuple[int, int]], by_us: int, further_us: int
) -> None:
    bounds = np.cumsum(np.ravel(gaps_and_lengths))
    of = RecordedTime(bounds[::2], bounds[1::2])
    moments = np.concatenate([np.arange(a, b + 1) for a, b in zip(of.first_us, of.last_us, strict=True)])
    assert of.moments == len(moments)
    turned = of.turned(moments, by_us)
    assert turned.tolist() == np.roll(moments, -by_us).tolist()  # the slow twin
    assert of.turned(turned, further_us).tolist() == of.turned(moments, by_us + further_us).tolist()
    assert of.turned(moments, 0).tolist() == moments.tolist()


def test_steady_sensors_have_no_pauses_and_a_recorder_of_eight_hours_a_day_has() -> None:
    rng, hour_us = np.random.default_rng(35), 3_600_000_000
    for busiest in (100, 10_000):
        for _ in range(50):
            assert recorded_time(rng.integers(0, 24 * hour_us, busiest), busiest).pauses == 0
    days = [24 * hour_us * day + rng.integers(0, 8 * hour_us, 1_000) for day in range(7)]
    of = recorded_time(np.concatenate(days), 7_000)
    assert of.pauses == 6
    assert abs(of.seconds / (7 * 8 * 3600) - 1) < 0.01


def test_bursts_of_a_few_reports_each_are_no_stretches_of_their_own() -> None:
    """Five sensors report each of 1,000 events within a second; between events nobody reports."""
    rng = np.random.default_rng(7)
    events = np.cumsum(rng.exponential(1800e6, 1_000)).astype(np.int64)
    at_us = (events[:, None] + rng.integers(0, 10**6, (1_000, 5))).ravel()
    assert recorded_time(at_us, 1_000).pauses == 0


def test_nothing_recorded_lasts_no_time() -> None:
    of = recorded_time(np.empty(0, np.int64), 0)
    assert (of.seconds, of.span_s, of.pauses, of.moments) == (0.0, 0.0, 0, 0)
