import numpy as np
import pytest

from coincide import Histogram
from coincide.errors import CoincideError
from coincide.places import EarthPlace, FramePlace, Places, TravelTimes
from coincide.sources import SourceRule, located_source
from coincide.sources.report_density import spread_by
from tests.reference.one_place import Reports, grid

MEMBERS = [(0.0, 0.0, 0.0), (100.0, 0.0, 0.0), (0.0, 100.0, 0.0), (110.0, 90.0, 0.0), (50.0, -40.0, 0.0)]
CLOCK = Histogram.normal(0.004)
RULE = SourceRule(343, slack_s=0.001, margin_m=50)


def heard(
    place: tuple[float, float, float], errors_s: list[float], members: list[tuple[float, float, float]]
) -> list[int]:
    ways = [float(np.linalg.norm(np.subtract(place, each))) for each in members]
    return [round((way / 343 + error) * 1e6) for way, error in zip(ways, errors_s, strict=True)]


def test_equals_a_grid_of_all_places() -> None:
    times = heard((63, 27, 0), [0.003, -0.005, 0.001, 0.004, -0.002], MEMBERS)
    found = located_source(RULE, Places.of([FramePlace(*each) for each in MEMBERS]), [CLOCK] * 5, times)
    assert found is not None
    reports = Reports(MEMBERS, 343, [Histogram(*spread_by(CLOCK, RULE.slack_s))] * 5, times)
    places = list(grid((50, 15, 0), (78, 40, 0), (90, 80, 1)))
    density = reports.densities(places)
    share = density / density.sum()
    mean = share @ np.array(places)
    assert np.hypot(*(mean - found.place.coordinates)[:2]) < 0.1
    peak = places[int(np.argmax(share))]
    assert reports.densities([peak])[0] <= 1.1 * reports.densities([found.peak.coordinates])[0]
    log_density = np.log(density.sum() * (28 / 90) * (25 / 80) / (210 * 240))
    assert found.log_density == pytest.approx(log_density, abs=0.02)
    centres, half = found.region.centres.coordinates, np.array(found.region.half_m)
    away = np.abs(np.array(places)[:, None] - centres)
    in_region = (away <= half + 1e-9).all(axis=2).max(axis=1)
    assert share[in_region].sum() == pytest.approx(0.9, abs=0.02)
    spread = np.sqrt(share @ (np.array(places) - mean) ** 2)
    assert found.ellipse.major_m / spread[:2].max() == pytest.approx(2.146, abs=0.45)  # of a Gaussian
    assert found.p05_us < 0 < found.p95_us
    assert found.lost < 0.01


def test_nine_of_ten_regions_have_the_source() -> None:
    """Errors are drawn from the templates, which is all that a posterior promises; bounds are 4 deviations."""
    rng, draws = np.random.default_rng(36), 120
    there = in_time = 0
    places = Places.of([FramePlace(*each) for each in MEMBERS])
    for _ in range(draws):
        source = (*rng.uniform(-50, 150, 2), 0.0)
        errors = [-float(CLOCK.quantile(p)) for p in rng.uniform(size=5)]
        found = located_source(SourceRule(343, 1e-5, margin_m=60), places, [CLOCK] * 5, heard(source, errors, MEMBERS))
        assert found is not None
        away = np.abs(found.region.centres.coordinates - source)
        there += bool((away <= np.array(found.region.half_m) + 1e-9).all(axis=1).any())
        in_time += found.p05_us <= 0 <= found.p95_us
    for count in (there, in_time):
        assert abs(count / draws - 0.9) < 4 * np.sqrt(0.09 / draws)


@pytest.mark.parametrize("count", [5, 10, 30])
def test_little_is_lost_in_space(count: int) -> None:
    """The bound on what went was up to 1 where cells of one round were too few."""
    rng = np.random.default_rng(36)
    for _ in range(3):
        members_m = np.column_stack((rng.uniform(0, 100, (count, 2)), rng.uniform(0, 2, count)))
        source = (*rng.uniform(-20, 120, 2), rng.uniform(-50, 0))
        errors = [-float(CLOCK.quantile(p)) for p in rng.uniform(size=count)]
        members = [(float(x), float(y), float(z)) for x, y, z in members_m]
        rule = SourceRule(343, 1e-5, height_m=(-50, 0), margin_m=30)
        places = Places.of([FramePlace(*each) for each in members])
        found = located_source(rule, places, [CLOCK] * count, heard(source, errors, members))
        assert found is not None
        assert found.lost < 0.03
        assert len(found.region.probability) < 2_000


def test_a_depth_is_found_on_the_earth() -> None:
    stations = [(42.98, 13.35, 464), (42.58, 12.77, 253), (42.54, 13.41, 1283), (42.75, 13.1, 900), (42.9, 13.0, 700)]
    places = Places.of([EarthPlace(*each) for each in stations])
    source = EarthPlace(42.76, 13.2, -8_000)
    ways = np.array([Places.of([source, each]).distance_m(0, 1) for each in map(places.__getitem__, range(5))])
    table = TravelTimes([0, 20_000, 100_000], [0, 4, 18])
    rule = SourceRule(table, slack_s=0.05, height_m=(-15_000, 1_000))
    times = (table.time_s(ways) * 1e6).round().astype(np.int64) + 1_476_400_000_000_000
    found = located_source(rule, places, [Histogram.normal(0.05)] * 5, times.tolist())
    assert found is not None
    assert Places.of([source, EarthPlace(found.place.lat, found.place.lon, -8_000)]).distance_m(0, 1) < 1_000  # type: ignore[union-attr]
    assert found.height_m[0] < -8_000 < found.height_m[1]
    assert abs(found.mean_us - 1_476_400_000_000_000) < 300_000
    assert max(map(abs, found.residual_s)) < 0.1


def test_what_no_place_explains_and_what_is_too_little() -> None:
    places = Places.of([FramePlace(*each) for each in MEMBERS])
    assert located_source(RULE, places, [CLOCK] * 5, [0, 0, 0, 0, 2_000_000]) is None
    three = Places.of([FramePlace(*each) for each in MEMBERS[:2]])
    with pytest.raises(CoincideError, match="places is 2: 3 to 100 members: fewer do not determine a place"):
        located_source(RULE, three, [CLOCK] * 2, [0, 0])
    with pytest.raises(CoincideError, match="templates is 2: one for each of 5 places"):
        located_source(RULE, places, [CLOCK] * 2, [0] * 5)
    with pytest.raises(CoincideError, match="at most 1e6 seconds apart"):
        located_source(RULE, places, [CLOCK] * 5, [0, 0, 0, 0, 10**13])


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ((343, 0), "slack_s is 0: seconds from 1e-06 to 1e"),
        ((343, 1, (5, 2)), r"height_m is \(5, 2\): metres, or the least and the greatest"),
        ((343, 1, 0, 0), "margin_m is 0: metres above 0"),
        ((0, 1), "speed_m_s is 0"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(given: tuple[float, ...], fault: str) -> None:
    with pytest.raises(CoincideError, match=fault):
        SourceRule(*given)


def test_a_region_of_few_cells_covers_that_of_many() -> None:
    square = Places.of([FramePlace(0, 0), FramePlace(100, 0), FramePlace(0, 100), FramePlace(100, 100)])
    heard_us = [145_773, 235_057, 195_574, 269_008]
    bang = located_source(SourceRule(343, slack_s=0.004), square, [Histogram.uniform(-0.001, 0.001)] * 4, heard_us)
    assert bang is not None
    fine, few = bang.region, bang.region_in(20)
    assert len(few.centres) <= 20 < len(fine.centres)
    assert few.probability.sum() == pytest.approx(fine.probability.sum())
    assert (np.diff(few.probability) <= 0).all()
    away_m = np.abs(fine.centres.coordinates[:, None] - few.centres.coordinates)
    is_inside = np.all(away_m <= np.array(few.half_m) + 1e-9, axis=2)
    assert np.any(is_inside, axis=1).all()
