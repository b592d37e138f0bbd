import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import Histogram, Window, goodness_of_fit
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.learning import Learning, SensorStream, calibrate, consensus_of, errors_by_consensus
from coincide.learning.consensus import CLOSE
from tests.reference.learning import consensus

reports = st.lists(
    st.tuples(st.integers(0, 300).map(lambda at: at * 997), st.sampled_from([1e3, 5e3]), st.integers(0, 3)), max_size=30
)


@given(reports)
def test_groups_and_their_means_are_those_of_the_slow_way(of: list[tuple[int, float, int]]) -> None:
    of = list({at: (at, std, source) for at, std, source in of}.values())  # equal times may be taken in any order
    at_us, std_us, source = (np.array(column) for column in zip(*of, strict=True)) if of else (np.empty(0, int),) * 3
    found = consensus_of(at_us.astype(np.int64), std_us.astype(float), source.astype(np.int64))
    expected, ambiguous = consensus(of, CLOSE)
    assert found.ambiguous == ambiguous
    np.testing.assert_allclose(found.at_us, [mean for mean, _ in expected], atol=0.51)
    np.testing.assert_allclose((found.interval_us / 3.29) ** 2, [variance for _, variance in expected], rtol=1e-9)


SIGMAS_S = np.array([0.05, 0.05, 0.05, 0.05, 0.4, 0.2])
EVERY_S = 60.0


def heard(rng: Generator, events: int, delays_s: FloatArray) -> tuple[FloatArray, Int64Array, FloatArray]:
    """Return reported times, sensors and true errors of sensors that miss a tenth and make some noise of their own."""
    at_s = np.arange(events) * EVERY_S + rng.uniform(0, 20, events)
    errors_s = rng.normal(0, SIGMAS_S, (events, len(SIGMAS_S))) - delays_s
    times_s = at_s[:, None] - errors_s
    there = rng.random(times_s.shape) < 0.9
    sensor = np.broadcast_to(np.arange(len(SIGMAS_S)), times_s.shape)[there]
    noise_s = rng.uniform(0, events * EVERY_S, events)
    times_s = np.concatenate((times_s[there], noise_s))
    return times_s, np.concatenate((sensor, rng.integers(0, len(SIGMAS_S), events))), errors_s


def test_a_sensor_is_learnt_from_the_others_within_the_stated_bias(rng: Generator) -> None:
    delays_s = np.array([0.0, 0.0, 0.0, 0.0, 3.0, 0.0])
    times_s, sensor, errors_s = heard(rng, 3000, delays_s)
    present = {n: Histogram.normal(sigma_s) for n, sigma_s in enumerate(SIGMAS_S.tolist())}
    present[4] = Histogram.uniform(-8, 0)  # all that is known of it
    found = errors_by_consensus(np.rint(times_s * 1e6).astype(np.int64), sensor, sensor, present, Window(20))
    names = {n: SensorStream(f"s{n}", "noise") for n in found}
    learnt = calibrate({names[n]: each for n, each in found.items()}, Learning(Window(20), buckets=32))
    late = learnt[4].learnt
    assert late is not None
    assert learnt[4].pool == "own"
    assert late.template.mean_s == pytest.approx(-3, abs=0.03)
    assert 0.97 < late.template.std_s / 0.4 < 1.16
    assert goodness_of_fit(late.template, errors_s[:, 4]).distance < 0.04


def test_the_sharpest_sensor_cannot_be_learnt_from_blunt_ones(rng: Generator) -> None:
    times_s, sensor, _ = heard(rng, 500, np.zeros(6))
    blunt = (sensor == 0) | (sensor == 4) | (sensor == 5)
    present = {0: Histogram.normal(0.05), 4: Histogram.normal(0.4), 5: Histogram.normal(0.2)}
    detected_us = np.rint(times_s[blunt] * 1e6).astype(np.int64)
    found = errors_by_consensus(detected_us, sensor[blunt], sensor[blunt], present, Window(20))
    assert len(found[0]) == 0
    assert found[0].blurred > 300


def test_all_streams_of_a_sensor_are_left_out_together() -> None:
    detected_us = np.array([0, 10, 20])
    source, sensor = np.array([0, 1, 2]), np.array([0, 0, 1])
    present = dict.fromkeys(range(3), Histogram.normal(0.001))
    found = errors_by_consensus(detected_us, source, sensor, present, Window(1))
    assert found[0].unmatched == found[1].unmatched == 1  # one report alone is no consensus
