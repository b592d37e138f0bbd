import numpy as np
import pytest

from coincide import Histogram
from coincide.errors import CoincideError
from coincide.places import FramePlace, Places
from coincide.sources import SourceRule, largest_set
from tests.reference.one_place import Reports, grid, most_explained

MEMBERS = [
    (0.0, 0.0, 0.0),
    (100.0, 0.0, 0.0),
    (0.0, 100.0, 0.0),
    (110.0, 90.0, 0.0),
    (50.0, -40.0, 0.0),
    (40.0, 60.0, 0),
]
CLOCKS = [Histogram.normal(0.004), Histogram.uniform(-0.006, 0.01), Histogram.uniform(0, 0.012)] * 2
RULE = SourceRule(343, slack_s=0.02, margin_m=30)
PLACES = Places.of([FramePlace(*each) for each in MEMBERS])


def heard_us(seed: int) -> list[int]:
    """Times of one source at some members, and of anything at others."""
    rng = np.random.default_rng(seed)
    ways_m = np.linalg.norm(np.array(MEMBERS) - (*rng.uniform(0, 100, 2), 0), axis=1)
    at_s = ways_m / 343 - [clock.quantile(p) for clock, p in zip(CLOCKS, rng.uniform(size=6), strict=True)]
    strangers = rng.choice(6, 1 + seed % 2, replace=False)
    at_s[strangers] += rng.uniform(-0.1, 0.1, len(strangers))
    return [round(each * 1e6) for each in at_s.tolist()]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threshold", [0.3, 0.8])
def test_no_subset_at_any_place_of_a_grid_is_larger(seed: int, threshold: float) -> None:
    times = heard_us(seed)
    found = largest_set(RULE, PLACES, CLOCKS, times, threshold, at_least=3)
    reports = Reports(MEMBERS, 343, CLOCKS, times)
    assert found.place is not None
    [there] = reports.of(found.members).probabilities([found.place.coordinates], RULE.slack_s)
    assert there >= found.probability - 1e-3
    assert found.probability >= threshold
    places = list(grid((-30, -70, 0), (140, 130, 0), (17, 20, 1)))
    assert most_explained(reports, places, RULE.slack_s, threshold, len(found.members) + 1) <= found.at_most


def test_most_are_certain_to_be_largest() -> None:
    """Not all: P of a larger set may be too near the threshold for bounds on it."""
    found = [largest_set(RULE, PLACES, CLOCKS, heard_us(seed), 0.5, at_least=3) for seed in range(12)]
    assert sum(each.is_largest for each in found) >= 10


def test_no_set_where_too_few_have_a_place() -> None:
    times = [0, 900_000, 1_800_000, 2_700_000, 3_600_000, 4_500_000]
    found = largest_set(RULE, PLACES, CLOCKS, times, 0.5, at_least=3)
    assert (found.members, found.probability, found.place, found.at_most) == ((), 0.0, None, 0)
    assert found.is_largest


def test_says_what_it_could_not_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    times = heard_us(1)
    settled = largest_set(RULE, PLACES, CLOCKS, times, 0.3, at_least=3)
    monkeypatch.setattr("coincide.sources.explained_sets.MOST_ROUNDS", 2)
    found = largest_set(RULE, PLACES, CLOCKS, times, 0.3, at_least=3)
    assert not found.is_largest
    assert len(found.members) <= len(settled.members) <= found.at_most


def test_a_source_has_a_depth() -> None:
    rng = np.random.default_rng(36)
    members_m = np.column_stack((rng.uniform(0, 100, (7, 2)), np.zeros(7)))
    at_s = np.linalg.norm(members_m - (30, 60, -40), axis=1) / 343
    at_s[2] += 0.2
    rule = SourceRule(343, slack_s=0.01, height_m=(-50, 0), margin_m=20)
    places = Places.of([FramePlace(*each) for each in members_m.tolist()])
    times = np.rint(at_s * 1e6).astype(np.int64).tolist()
    found = largest_set(rule, places, [Histogram.uniform(-0.002, 0.002)] * 7, times, 0.9, at_least=4)
    assert (found.members, found.at_most) == ((0, 1, 3, 4, 5, 6), 6)


@pytest.mark.parametrize("at_least", [2, 7, 3.5, True])
def test_the_least_size_is_one_that_determines_a_place(at_least: object) -> None:
    with pytest.raises(CoincideError, match=f"at_least is {at_least}: a whole number from 3, .* to 6, which are all"):
        largest_set(RULE, PLACES, CLOCKS, [0] * 6, 0.5, at_least)  # type: ignore[arg-type]
