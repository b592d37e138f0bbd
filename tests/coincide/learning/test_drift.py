"""Drift: what the others say of each member, the level of its error, and how evenly levels spread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram
from coincide.arrays.kinds import FloatArray
from coincide.learning.drift import PARTS, Drift, drift_of, levels, others_say, part_of
from tests.reference import learning as slow

TIME = st.floats(-1e6, 1e6)
STD = st.floats(1.0, 1e6)
MEMBERS = st.lists(st.tuples(TIME, STD, st.integers(0, 3)), min_size=1, max_size=6)


@given(st.lists(MEMBERS, min_size=1, max_size=4))
def test_the_others_say_what_the_slow_twin_says(matches: list[list[tuple[float, float, int]]]) -> None:
    width = max(map(len, matches))
    padded = [[*members, *[(np.nan, np.nan, -1)] * (width - len(members))] for members in matches]
    centre, std, sensor = np.moveaxis(np.array(padded, np.float64), 2, 0)
    is_present = sensor >= 0
    said = others_say(centre, std, sensor.astype(np.int64), is_present)
    for match, members in enumerate(matches):
        for nth in range(len(members)):
            expected = slow.others_mean(members, nth)
            if expected is None:
                assert np.isnan(said.at_us[match, nth])
            else:
                assert said.at_us[match, nth] == pytest.approx(expected[0], rel=1e-6, abs=1e-3)
                assert said.std_us[match, nth] == pytest.approx(expected[1] ** 0.5)


@st.composite
def templates(draw: st.DrawFn) -> Histogram:
    lengths = draw(st.lists(st.floats(0.1, 5), min_size=1, max_size=6))
    mass = np.array(draw(st.lists(st.floats(0.01, 1), min_size=len(lengths), max_size=len(lengths))))
    return Histogram(np.cumsum([draw(st.floats(-9, 9)), *lengths]), mass / mass.sum())


@given(templates(), st.lists(st.tuples(st.floats(-30, 30), st.just(0.0) | st.floats(0.01, 1)), min_size=1, max_size=8))
def test_a_level_is_the_probability_of_an_error_at_most_as_great(
    template: Histogram, errors: list[tuple[float, float]]
) -> None:
    error_s, share = np.array(errors).T
    blur_s = share * template.std_s
    found = levels([template], np.zeros(len(errors), np.int64), error_s, blur_s)
    assert ((found >= 0) & (found <= 1)).all()
    twins = [
        slow.level(template.edges_s.tolist(), template.mass.tolist(), *each)
        for each in zip(error_s.tolist(), blur_s.tolist(), strict=True)
    ]
    assert found == pytest.approx(twins, abs=1 / 64 + 1e-9)


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=300))
def test_the_distance_is_that_of_the_plot_at_the_bounds(found: list[float]) -> None:
    counts = np.bincount(part_of(np.array(found)), minlength=PARTS)
    drift = drift_of(counts)
    assert drift is not None
    assert drift.errors == len(found)
    assert drift.distance == pytest.approx(slow.pp_distance([int(each * PARTS) / PARTS for each in found], PARTS))


def simulated_levels(true: list[Histogram], used: list[Histogram], matches: int) -> FloatArray:
    """Levels of every member, (matches, sensors), of sensors that err as `true` says and are believed as `used`."""
    rng = np.random.default_rng(7)
    error_s = np.stack([each.quantile(rng.uniform(size=matches)) for each in true], axis=1)
    mean_s, std_s = (np.array([getattr(each, name) for each in used]) for name in ("mean_s", "std_s"))
    centre_us, sensor = (mean_s - error_s) * 1e6, np.tile(np.arange(len(true)), (matches, 1))
    said = others_say(centre_us, np.tile(std_s * 1e6, (matches, 1)), sensor, np.ones_like(sensor, np.bool_))
    found = levels(used, sensor.ravel(), (said.at_us / 1e6 + error_s).ravel(), said.std_us.ravel() / 1e6)
    return found.reshape(sensor.shape)


RIGHT = [
    Histogram.from_latency([(0, 0.3, 0.8), (0.3, 1, 0.2)]),
    Histogram.from_latency([(0, 1, 0.3), (1, 2, 0.5), (2, 4, 0.2)]),
    Histogram.normal(0.8),
    Histogram.uniform(-1, 1),
]


def drifts(true: list[Histogram], used: list[Histogram]) -> list[Drift]:
    columns = part_of(simulated_levels(true, used, 400)).T
    return [found for column in columns if (found := drift_of(np.bincount(column, minlength=PARTS)))]


def test_right_templates_of_any_shape_do_not_drift() -> None:
    found = drifts(RIGHT, RIGHT)
    assert not any(each.is_certain for each in found)
    assert max(each.distance for each in found) < 0.08


def test_the_sensor_whose_clock_went_wrong_drifts_most() -> None:
    found = drifts([*RIGHT[:3], Histogram.uniform(-2.2, -0.2)], RIGHT)
    assert found[3].is_certain
    assert found[3].distance == max(each.distance for each in found)
