import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coincide.places import TravelTimes
from coincide.sources.arrivals import Arrivals
from tests.examples import examples

TABLES = (TravelTimes.at_speed(343), TravelTimes([0, 40, 100, 300], [0, 0.2, 0.4, 0.9]))
points = st.tuples(*[st.floats(-200, 200)] * 3)


@settings(max_examples=examples(40))
@given(st.sampled_from(TABLES), st.lists(points, min_size=3, max_size=6), points, points, st.integers(0, 99))
@example(TABLES[0], [(0, 0, 0), (1, 0, 0), (0, 1, 0)], (0, 0, 0), (50, 50, 0), 1)
def test_no_place_in_a_cell_differs_by_more_than_it_says(
    travel: TravelTimes,
    members: list[tuple[float, float, float]],
    centre: tuple[float, float, float],
    half: tuple[float, float, float],
    seed: int,
) -> None:
    members_m, centre_m, half_m = np.array(members), np.array([centre]), np.abs(half)
    cell = Arrivals.of(travel, members_m, centre_m, half_m)
    inside = centre_m + np.random.default_rng(seed).uniform(-1, 1, (200, 3)) * half_m
    places = Arrivals.of(travel, members_m, inside, np.zeros(3))
    np.testing.assert_allclose(places.apart_s.mean(axis=1), 0, atol=1e-12)
    assert (np.abs(places.apart_s - cell.apart_s) <= cell.within_s + 1e-9).all()
    assert (places.within_s <= 1e-12).all()


def test_far_away_differences_are_bounded_much_better_than_times() -> None:
    members = np.array([[0.0, 0, 0], [10, 0, 0], [0, 10, 0]])
    far = Arrivals.of(TABLES[0], members, np.array([[3_000.0, 0, 0]]), np.array([100.0, 0, 0]))
    assert far.within_s.max() < 0.02 < 100 / 343
