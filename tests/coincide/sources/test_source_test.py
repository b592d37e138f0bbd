from itertools import combinations

import numpy as np
import pytest

from coincide import Histogram
from coincide.errors import CoincideError
from coincide.places import EarthPlace, FramePlace, Places
from coincide.sources import ReportSets, SourceRule, SourceTest, source_probability
from tests.coincide.sources.test_explained_sets import CLOCKS, MEMBERS, PLACES, RULE, heard_us
from tests.reference.one_place import Reports

NEAR = 0.02  # of P: between what the test finds and what no place exceeds


def sets_of(times: list[int], size: int) -> ReportSets:
    chosen = np.array(list(combinations(range(len(times)), size)))
    return ReportSets(PLACES, chosen, CLOCKS, chosen, np.array(times)[chosen])


@pytest.mark.parametrize("size", [4, 5])
def test_a_source_explains_what_bounds_on_p_say(size: int) -> None:
    settled = []
    for seed, threshold in ((0, 0.3), (1, 0.8)):
        times = heard_us(seed)
        sets = sets_of(times, size).take(slice(None, None, 2))
        for members, explained in zip(sets.at_place, SourceTest(RULE, threshold).explains(sets), strict=True):
            chosen = members.tolist()
            part = Places(PLACES.kind, PLACES.coordinates[chosen])
            of_members = [CLOCKS[nth] for nth in chosen], [times[nth] for nth in chosen]
            bounds = source_probability(RULE, part, *of_members, within=0.05)
            if bounds.at_most < threshold or bounds.probability >= threshold + NEAR:
                assert explained == (bounds.at_most >= threshold)
                settled.append(bool(explained))
    assert any(settled)
    assert not all(settled)


def test_the_place_that_is_told_has_the_p_that_is_told() -> None:
    for seed in range(4):
        times = heard_us(seed)
        sets = sets_of(times, 4)
        for row in range(0, len(sets), 4):
            told = SourceTest(RULE, 0.3).explained_by(sets, row)
            assert SourceTest(RULE, 0.3).explains(sets)[row] == (told is not None and told.probability >= 0.3)
            if told is not None:
                part = Reports(MEMBERS, 343, CLOCKS, times).of(sets.at_place[row].tolist())
                [there] = part.probabilities([told.place.coordinates], RULE.slack_s)
                assert told.probability == pytest.approx(there, abs=1e-3)


def test_what_is_said_of_a_set_does_not_depend_on_the_others() -> None:
    sets = sets_of(heard_us(1), 4)
    together = SourceTest(RULE, 0.5).explains(sets)
    alone = [SourceTest(RULE, 0.5).explains(sets.take(slice(row, row + 1)))[0] for row in range(len(sets))]
    assert together.tolist() == alone
    assert 0 < sum(alone) < len(sets)


def test_exact_times_are_settled() -> None:
    square = Places.of([FramePlace(0, 0), FramePlace(100, 0), FramePlace(0, 100), FramePlace(100, 100)])
    four, exact = np.arange(4)[None], [Histogram.point()]
    way_m = np.hypot(square.coordinates[:, 0] - 30, square.coordinates[:, 1] - 40)
    right = np.rint(way_m / 343 * 1e6).astype(np.int64)
    heard = np.array([right, right + np.array([0, 0, 0, 20_000])])
    sets = ReportSets(square, four.repeat(2, axis=0), exact, np.zeros((2, 4), int), heard)
    assert SourceTest(SourceRule(343, slack_s=1e-4), 0.5).explains(sets).tolist() == [True, False]


def test_a_depth_on_the_earth() -> None:
    stations = Places.of([EarthPlace(42.8 + 0.2 * (nth % 3), 13.1 + 0.15 * (nth // 3)) for nth in range(6)])
    rule = SourceRule(6000, slack_s=0.3, height_m=(-15_000, 0), margin_m=20_000)
    way_m = np.hypot([stations.distance_m(4, nth) for nth in range(6)], 8000)
    times = np.rint(way_m / 6000 * 1e6).astype(np.int64)[None]
    wrong = times + np.array([0, 0, 0, 0, 0, 2_000_000])
    members = np.arange(6)[None].repeat(2, axis=0)
    sets = ReportSets(
        stations, members, [Histogram.uniform(-0.05, 0.05)], np.zeros((2, 6), int), np.concatenate((times, wrong))
    )
    test = SourceTest(rule, 0.9)
    assert test.explains(sets).tolist() == [True, False]
    told = test.explained_by(sets, 0)
    assert told is not None
    assert isinstance(told.place, EarthPlace)
    assert told.place.lat == pytest.approx(stations.coordinates[4, 0], abs=0.03)


def test_a_threshold_is_a_probability() -> None:
    with pytest.raises(CoincideError, match="threshold"):
        SourceTest(RULE, 0)


def test_no_source_is_out_of_reach_of_a_member() -> None:
    times = np.array([heard_us(0)])
    every = np.arange(6)[None]
    sets = ReportSets(PLACES, every, [Histogram.uniform(-0.3, 0.3)], np.zeros((1, 6), int), times)
    explained = [
        SourceTest(SourceRule(343, slack_s=0.5, reach_m=reach_m), 0.1).explains(sets)[0] for reach_m in (50, 150)
    ]
    assert explained == [False, True]
    assert SourceTest(SourceRule(343, slack_s=0.5, reach_m=50), 0.1).explained_by(sets, 0) is None
    with pytest.raises(CoincideError, match="margin_m"):
        SourceRule(343, slack_s=0.5, reach_m=50, margin_m=3)
