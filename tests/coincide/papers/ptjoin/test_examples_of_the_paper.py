"""Examples 1 to 5 of the PTJoin paper, in its milliseconds (Examples 3 and 4: whatever the unit is)."""

import numpy as np
import pytest

from coincide import Detections, Histogram, Window, match_probability, timing_join
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, ge
from coincide.papers.ptjoin.histogram_joins import ptjoin
from coincide.papers.ptjoin.partition_bounds import InstalledCondition, partitions_for_any_threshold
from coincide.papers.ptjoin.quadratics import (
    bounding_configuration,
    break_points,
    configuration,
    quadratic_between,
    satisfaction_time,
)
from tests.reference.recorded_streams import random_templates, two_streams

MS = 1000  # microseconds
PHI_1 = Histogram.from_latency([(0, 10, 0.6), (10, 20, 0.3), (20, 40, 0.1)])
PHI_2 = Histogram([-40, -30, -20, -10, 0], [0.15, 0.3, 0.4, 0.15])


def detected_at(template: Histogram, time: float) -> HistogramTimestamp:
    """H = phi + t_det - max(phi)."""
    phi = HistogramTimestamp.of_template(template, 1) - template.earliest_s
    return phi + time - phi.max


H_1, H_2, H_3 = detected_at(PHI_1, 60), detected_at(PHI_2, 110), detected_at(PHI_1, 210)


def test_example_1_detections_are_too_far_apart_and_occurrences_are_not() -> None:
    within_40_ms = Window(0.040)

    def probabilities(delays_s: list[float]) -> list[float]:
        clocks = [[Histogram.point().shift(-delay_s)] for delay_s in delays_s]
        e_i, e_j = Detections([60 * MS], clocks[0]), Detections([110 * MS], clocks[1])
        return [*timing_join(e_i, e_j, within_40_ms, 0.5).probability.tolist()]

    assert probabilities([0.0, 0.0]) == []
    assert probabilities([0.020, 0.040]) == [1.0]  # at 40 and at 70


def test_example_2_intrusions_within_2000_ms() -> None:
    seismic, acoustic = Histogram.point(), Histogram.from_latency([(0, 1, 1.0)])
    a = Detections([t * MS for t in (10_000, 20_000, 30_000)], [seismic])
    b = Detections([t * MS for t in (12_200, 22_600, 33_001)], [acoustic])
    # the acoustic latency must be at least 200 ms, 600 ms or 1001 ms, of at most 1000 ms
    assert ptjoin(two_streams(a, b), Window(2.0), threshold=0.6).members.tolist() == [[0, 0]]
    assert match_probability(seismic, acoustic, 2.2, Window(2.0)) == pytest.approx(0.8, abs=1e-12)
    # the threshold lowered at the cost of more false alarms
    assert ptjoin(two_streams(a, b), Window(2.0), threshold=0.3).members[:, 0].tolist() == [0, 1]


def test_example_3_the_timestamps_of_figure_2() -> None:
    timestamps, masses = (H_1, H_2, H_3), ([0.1, 0.3, 0.6], [0.15, 0.3, 0.4, 0.15], [0.1, 0.3, 0.6])
    points = [[20, 40, 50, 60], [70, 80, 90, 100, 110], [170, 190, 200, 210]]
    assert [timestamp.points.tolist() for timestamp in timestamps] == points
    for timestamp, mass in zip(timestamps, masses, strict=True):
        np.testing.assert_allclose(timestamp.mass, mass, atol=1e-15)


def test_example_4_the_bounds_and_their_configuration() -> None:
    assert ge(H_3 - 90, H_2) == pytest.approx(0.925, abs=1e-14)
    assert ge(H_3 - 100, H_2) == pytest.approx(0.76875, abs=1e-14)
    first, last = bounding_configuration(H_3, H_2, 0.8)
    assert break_points(H_3, H_2)[[first, last]].tolist() == [90, 100]
    assert configuration(H_3, H_2, 90) == configuration(H_3, H_2, 99.9) == (0, 1, 1, 2, 3)


def test_example_4_the_quadratic_equation_and_its_root() -> None:
    quadratic = quadratic_between(H_3, H_2, 90, 100)
    in_x = np.polynomial.Polynomial([quadratic.constant, quadratic.slope, quadratic.curvature])
    in_y = in_x(np.polynomial.Polynomial([-160, 1]))  # y = 70 + x, and the quadratic counts from x = 90
    assert in_y.coef.tolist() == pytest.approx([-17.315, 0.236, -0.0007625], rel=1e-9)
    assert round(quadratic.root(0.8) + 70, 2) == 168.59
    assert round(satisfaction_time(H_3, H_2, 0.8), 4) == 208.5908


def test_example_5_the_tight_partitions_lie_inside_those_for_any_threshold() -> None:
    window, threshold, longest_ms = Window(1.5), 0.8, 1000
    of_a, of_b = random_templates(500, longest_ms, seed=5), random_templates(500, longest_ms, seed=6)
    chosen = np.random.default_rng(7).choice(500, 20, replace=False)
    condition = InstalledCondition.install([of_a[at] for at in chosen], of_b, window, threshold)
    events = two_streams(
        Detections([5000 * MS] * len(chosen), [of_a[at] for at in chosen], range(len(chosen))), Detections([], of_b)
    )
    pi_us = max(template.latest_us - template.earliest_us for template in of_b)
    for a_i in events:
        tight, loose = condition.partitions(a_i), partitions_for_any_threshold(a_i, window, pi_us)
        assert loose.least_us < tight.least_us < tight.sure_first_us < loose.sure_first_us
        assert loose.sure_last_us < tight.sure_last_us < tight.greatest_us < loose.greatest_us
        # (1) to (8) of Figure 3: 1 loose left, 2 and 3 tight left, 4 and 5 loose satisfaction, 6 and 7 tight right, 8
        probed = [p.sure_first_us - p.least_us + p.greatest_us - p.sure_last_us for p in (tight, loose)]
        assert probed[0] < 0.8 * probed[1]
