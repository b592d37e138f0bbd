"""Drift: what the others say of each member, the level of its error, and how evenly levels spread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram, Window, match_probability
from coincide.arrays.kinds import FloatArray
from coincide.learning.drift import (
    NODES,
    PARTS,
    Drift,
    deviations,
    drift_of,
    has_wrong_spread,
    is_off,
    levels,
    others_doubt,
    others_say,
    part_of,
    true_probability,
)
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
    of_others = np.tile(std_s * 1e6, (matches, 1)), sensor, np.ones_like(sensor, np.bool_)
    said = others_say(centre_us, *of_others)
    deviation_us = np.tile(np.stack([deviations(each) for each in used]) * 1e6, (matches, 1, 1))
    doubt_s = others_doubt(deviation_us, *of_others).reshape(-1, NODES) / 1e6
    return levels(used, sensor.ravel(), (said.at_us / 1e6 + error_s).ravel(), doubt_s).reshape(sensor.shape)


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


def scaled(template: Histogram, factor: float) -> Histogram:
    """The template, so many times as wide about its mean."""
    return Histogram(template.mean_s + (template.edges_s - template.mean_s) * factor, template.mass)


NORMAL = Histogram.normal(0.5, 64)


@pytest.mark.parametrize(("factor", "is_told"), [(0.67, True), (0.9, False), (1.0, False), (1.1, False), (1.5, True)])
def test_a_spread_that_is_wrong_is_told(factor: float, is_told: bool) -> None:
    found = drifts([scaled(NORMAL, factor)] * 3, [NORMAL] * 3)
    assert [each.is_certain for each in found] == [is_told] * 3
    assert [each.spread for each in found] == pytest.approx([factor] * 3, rel=0.15)
    assert all(each.distance < 0.14 for each in found)


def test_of_several_the_one_whose_spread_is_wrong_is_told() -> None:
    found = drifts([NORMAL, NORMAL, scaled(NORMAL, 1.5)], [NORMAL] * 3)
    assert [each.is_certain for each in found] == [False, False, True]


@pytest.mark.parametrize(
    "template",
    [
        Histogram([-10, -1, 1, 10], [0.05, 0.9, 0.05]),
        Histogram([-2, -1.9, 1.9, 2], [0.5, 0, 0.5]),
        Histogram.from_latency([(0, 10, 0.6), (10, 20, 0.3), (20, 40, 0.1)]),
        Histogram.uniform(-3, 3),
        Histogram.normal(0.5, 8),
    ],
)
def test_a_right_template_with_any_tails_has_its_own_spread(template: Histogram) -> None:
    """Heavy tails of the others are no narrow errors: the level allows for the shape of what they do not know."""
    columns = part_of(simulated_levels([template] * 3, [template] * 3, 20_000)).T
    found = [drift_of(np.bincount(column, minlength=PARTS)) for column in columns]
    assert [each.spread for each in found if each] == pytest.approx([1.0] * 3, abs=0.08)


@given(st.lists(st.integers(0, 40), min_size=PARTS, max_size=PARTS).filter(any))
def test_the_spread_is_that_of_the_mean_distance_from_the_middle(counts: list[int]) -> None:
    drift = drift_of(counts)
    assert drift is not None
    expected = slow.spread(counts)
    assert (drift.spread, drift.spread_p_value) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(st.integers(1, 5), st.data())
def test_the_others_are_as_wrong_as_the_slow_twin_says(matches: int, data: st.DataObject) -> None:
    """Mean and spread of what is put together are those of the weighted sum, whatever the order of the values."""
    members = data.draw(st.integers(3, 5))
    drawn = [[data.draw(templates()) for _ in range(members)] for _ in range(matches)]
    deviation = np.array([[deviations(each) for each in match] for match in drawn])
    std = np.array([[max(each.std_s, 1.0) for each in match] for match in drawn])
    sensor = np.tile(np.arange(members), (matches, 1))
    wrong = others_doubt(deviation, std, sensor, np.ones_like(sensor, np.bool_))
    for match in range(matches):
        for nth in range(members):
            mean, std_of_sum = slow.others_wrong(deviation[match].tolist(), std[match].tolist(), nth)
            assert wrong[match, nth].mean() == pytest.approx(mean, abs=1e-9)
            assert wrong[match, nth].std() == pytest.approx(std_of_sum, rel=0.35)


def told(levels_of: FloatArray, errors: int, sensors: int) -> tuple[float, float]:
    """Return which share of sensors is told by distance and by spread, each after so many errors drawn from these."""
    share = np.bincount(part_of(levels_of), minlength=PARTS) / len(levels_of)
    counted = np.random.default_rng(5).multinomial(errors, share, size=sensors)
    found = [drift for counts in counted if (drift := drift_of(counts))]
    return tuple(sum(map(judge, found)) / sensors for judge in (is_off, has_wrong_spread))  # type: ignore[return-value]


def test_right_templates_are_told_by_their_spread_as_seldom_as_by_their_distance() -> None:
    by_distance, by_spread = told(np.linspace(0, 1, 20_000, endpoint=False), 150, 20_000)
    assert by_spread <= max(by_distance, 1e-4)


@pytest.mark.parametrize(("factor", "errors"), [(1.5, 120), (0.67, 150)])
def test_a_wrong_spread_is_told_after_as_many_errors_as_the_docs_say(factor: float, errors: int) -> None:
    found = simulated_levels([scaled(NORMAL, factor)] * 3, [NORMAL] * 3, 20_000)[:, 0]
    by_distance, by_spread = told(found, errors, 1_000)
    assert by_spread > 0.7
    assert by_distance < 0.3


@pytest.mark.parametrize("factor", [0.67, 1.0, 1.25, 1.5, 2.0])
def test_what_a_spread_does_to_a_match_is_what_the_right_templates_say(factor: float) -> None:
    """By the library's own probabilities, of fine templates that are right, and of those that are believed."""
    believed, right = Histogram.normal(0.5, 64), Histogram.normal(0.5 * factor, 64)
    for window in (Window(0.3), Window(0.67), Window(1.5)):
        said, true = (match_probability(each, each, 0.0, window) for each in (believed, right))
        assert true_probability(said, factor) == pytest.approx(true, abs=0.01)


def test_a_sigma_1_5_times_too_small_is_told_by_what_it_does_to_real_matches() -> None:
    """Two sensors report at once, of whatever happens near: P of 0.66 is true in 0.48 of the cases."""
    rng = np.random.default_rng(35)
    error_s = rng.normal(0, 0.5 * 1.5, (400_000, 2))
    [window_s] = [each for each in np.arange(0.5, 1.0, 0.001).tolist() if is_just(0.66, each)][:1]
    share = float(np.mean(np.abs(error_s[:, 0] - error_s[:, 1]) <= window_s))
    assert share == pytest.approx(true_probability(0.66, 1.5), abs=0.01)
    [found] = drifts([scaled(NORMAL, 1.5)] * 3, [NORMAL] * 3)[:1]
    assert found.is_certain
    assert true_probability(0.66, found.spread) == pytest.approx(share, abs=0.04)


def is_just(said: float, window_s: float) -> bool:
    return bool(match_probability(NORMAL, NORMAL, 0.0, Window(window_s)) >= said)
