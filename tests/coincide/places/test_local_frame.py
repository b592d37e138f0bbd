import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.errors import PlaceError
from coincide.places import EarthPlace, FramePlace, Places
from coincide.places.local_frame import LocalFrame
from tests.examples import examples

NEARBY = st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-20_000, 3_000))


@settings(max_examples=examples(30))
@given(st.floats(-80, -2) | st.floats(2, 80), st.floats(-180, 180), st.lists(NEARBY, min_size=2, max_size=5))
def test_there_and_back_and_distances_hold(lat: float, lon: float, nearby: list[tuple[float, float, float]]) -> None:
    shrink = max(np.cos(np.radians(lat)), 0.05)
    given = [EarthPlace(lat + a, (lon + b / shrink + 180) % 360 - 180, up) for a, b, up in nearby]
    places = Places.of(given)
    frame = LocalFrame.around(places)
    points = frame.metres(places)
    for place, point in zip(given, points, strict=True):
        back = frame.place(*point)
        assert Places.of([place, back]).distance_m(0, 1) < 0.01
    apart = places.distance_m(np.arange(len(points))[:, None], np.arange(len(points)))
    straight = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    furthest = np.hypot(*points[:, :2].T).max()
    bound = (furthest / 6.371e6) ** 2 / 6
    assert (np.abs(straight - apart) <= (1.3 * bound + 1e-5) * apart + 0.01).all()


def test_a_frame_is_its_own_and_a_continent_is_too_wide() -> None:
    places = Places.of([FramePlace(1, 2, 3), FramePlace(4, 5, 6)])
    frame = LocalFrame.around(places)
    assert frame.metres(places).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert frame.place(1, 2, 3) == FramePlace(1, 2, 3)
    with pytest.raises(PlaceError, match="at most 300 km from their middle: further on the Earth is no plane"):
        LocalFrame.around(Places.of([EarthPlace(42, 13), EarthPlace(52, 13)]))
