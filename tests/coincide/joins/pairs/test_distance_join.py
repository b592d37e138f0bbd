import pickle
from fractions import Fraction
from math import hypot
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import CoincideError, Detections, Histogram, Window, timing_join
from coincide.clocks import Clock
from coincide.joins import PlacedDetections, distance_join
from coincide.joins.pairs import distance_join as module
from coincide.offsets.distance_offsets import distance_offset_ranges
from coincide.offsets.satisfying import offset_ranges
from coincide.places import DistanceWindow, EarthPlace, FramePlace, Places
from coincide.templates.template_columns import TemplatePairs
from tests.examples import examples
from tests.reference.pair_probability import Template, in_us, pair_probability

TEMPLATES = (
    Histogram.point(),
    Histogram.uniform(-2, 1),
    Histogram.from_latency([(0, 1, 0.6), (1, 2, 0.3), (2, 4, 0.1)]),
    Histogram([-3, -2, 2, 3], [0.5, 0, 0.5]),
)
Row = tuple[int, int, int]  # time in half seconds, template, place
rows = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=14)
POINTS = [(0.0, 0.0), (300.0, 400.0), (0.0, 10.0), (-600.0, 0.0)]
PLACES = Places.of([FramePlace(*each) for each in POINTS])


def placed(given: list[Row]) -> PlacedDetections:
    time, template, place = np.array(given).reshape(-1, 3).T
    return PlacedDetections(Detections(time * 500_000, TEMPLATES, template), PLACES, place)


def probability(one: Row, other: Row, speed: int, slack: float) -> float:
    (x, y), (z, w) = POINTS[one[2]], POINTS[other[2]]
    exact_ms = Fraction(hypot(x - z, y - w)) * 1000 / speed + Fraction(repr(slack)) * 1000
    window_us = -(-exact_ms.numerator // exact_ms.denominator) * 1000
    u, v = (Template(tuple(TEMPLATES[each[1]].edges_s), tuple(TEMPLATES[each[1]].mass)).exact for each in (one, other))
    return float(pair_probability(u, v, (other[0] - one[0]) * 500_000, in_us(-window_us / 1e6), in_us(window_us / 1e6)))


def pairs_of(a: list[Row], b: list[Row] | None, speed: float, slack: float, threshold: float) -> list[tuple[int, int]]:
    pairs = distance_join(placed(a), None if b is None else placed(b), DistanceWindow(speed, slack), threshold, "any")
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


@settings(max_examples=examples(30))
@given(rows, rows, st.sampled_from([100, 250, 1000]), st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([0.1, 0.6]))
def test_equals_the_slow_twin(a: list[Row], b: list[Row], speed: int, slack: float, threshold: float) -> None:
    expected = {
        (i, j): p for i, one in enumerate(a) for j, other in enumerate(b)
        if (p := probability(one, other, speed, slack)) >= threshold - 1e-12
    }  # fmt: skip
    assert pairs_of(a, b, speed, slack, threshold) == sorted(expected)
    with patch.object(module, "TABLE_PAIRS", 0):  # judged as they meet
        assert pairs_of(a, b, speed, slack, threshold) == sorted(expected)
    pairs = distance_join(placed(a), placed(b), DistanceWindow(speed, slack), threshold)
    np.testing.assert_allclose(pairs.probability, [expected[each] for each in sorted(expected)], atol=1e-12)
    assert pickle.loads(pickle.dumps(pairs)).probability.tolist() == pairs.probability.tolist()


@settings(max_examples=examples(20))
@given(rows, rows, st.sampled_from([0.05, 0.5, 1.0]))
def test_it_is_symmetric_and_grows_with_the_slack(a: list[Row], b: list[Row], threshold: float) -> None:
    found = pairs_of(a, b, 250, 0.5, threshold)
    assert sorted((j, i) for i, j in pairs_of(b, a, 250, 0.5, threshold)) == found
    assert set(found) <= set(pairs_of(a, b, 250, 0.75, threshold))
    of_itself = pairs_of(a, None, 250, 0.5, threshold)
    both_ways = {(i, j) for i, j in pairs_of(a, a, 250, 0.5, threshold) if i != j}
    assert {frozenset(each) for each in of_itself} == {frozenset(each) for each in both_ways}
    assert len(of_itself) == len({frozenset(each) for each in of_itself})


@settings(max_examples=examples(20))
@given(rows, rows, st.sampled_from([0.05, 0.5, 1.0]))
def test_equal_distances_are_a_window(a: list[Row], b: list[Row], threshold: float) -> None:
    one, other = ([(time, template, place) for time, template, _ in side] for side, place in ((a, 0), (b, 1)))
    fixed = timing_join(placed(one).detections, placed(other).detections, Window(2.5), threshold, "any")
    found = pairs_of(one, other, 250, 0.5, threshold)  # 500 m at 250 m/s, and half a second
    assert found == list(zip(fixed.left.tolist(), fixed.right.tolist(), strict=True))


@settings(max_examples=examples(30))
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9_000)), max_size=20), st.floats(0.01, 1)
)
def test_offsets_are_those_of_each_window(named: list[tuple[int, int, int]], threshold: float) -> None:
    clock = Clock("gw", Histogram.uniform(-3, 3)).template(Histogram.uniform(-0.05, 0.05))
    kinds = (*TEMPLATES, clock)
    u, v, width_ms = np.array(named, dtype=np.int64).reshape(-1, 3).T
    found = distance_offset_ranges(TemplatePairs(kinds, kinds, u, v), width_ms, threshold)
    for nth in range(len(u)):
        one = offset_ranges(TemplatePairs(kinds, kinds, u[[nth]], v[[nth]]), Window(width_ms[nth] / 1000), threshold)
        own = found.pair == nth
        assert found.left[own].tolist() == one.left.tolist()
        assert found.right[own].tolist() == one.right.tolist()


def test_a_sensor_without_a_place_is_refused() -> None:
    heard = Detections([0, 1], [Histogram.point()], sensor=["a", "b"])
    earth = PlacedDetections.by_sensor(heard, {"a": EarthPlace(1, 2), "b": EarthPlace(1, 2)})
    with pytest.raises(CoincideError, match="sensor is 'b': a sensor with a place; none is guessed"):
        PlacedDetections.by_sensor(heard, {"a": EarthPlace(1, 2)})
    with pytest.raises(CoincideError, match="sensor is None: a sensor for each row"):
        PlacedDetections.by_sensor(heard.without_labels, {})
    with pytest.raises(CoincideError, match="place_index is 4: a position among 4 places"):
        PlacedDetections(heard, PLACES, [0, 4])
    with pytest.raises(CoincideError, match="others is 'EarthPlace': of the kind FramePlace"):
        distance_join(placed([(0, 0, 0)]), earth, DistanceWindow(343), 0.5)
    with pytest.raises(CoincideError, match="a DistanceWindow, such as"):
        distance_join(earth, None, Window(1), 0.5)  # type: ignore[arg-type]
    with pytest.raises(CoincideError, match=r"b is Detections.*: PlacedDetections, such as"):
        distance_join(earth, heard, DistanceWindow(343), 0.5)  # type: ignore[arg-type]
    assert pairs_of([], [(0, 0, 0)], 343, 0, 0.5) == []
