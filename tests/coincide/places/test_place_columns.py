import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coincide.errors import PlaceError
from coincide.places import EarthPlace, FramePlace, Places
from tests.reference import geodesics

Degrees = tuple[float, float]
DEGREES = st.tuples(st.floats(-90, 90), st.floats(-180, 180)).filter(any)


def apart_m(one: Degrees, other: Degrees) -> float:
    return float(Places.of([EarthPlace(*one), EarthPlace(*other)]).distance_m(0, 1))


def bound_of(true_m: float) -> float:
    return 1.3e-5 if true_m <= 1e6 else 1.3e-4 if true_m <= 3e6 else 0.05


@given(DEGREES, DEGREES)
@example((0.0, 1.0), (0.0, 170.0))
@example((90.0, 1.0), (-90.0, 1.0))
@example((0.1, -180.0), (0.1, 180.0))
def test_the_way_along_the_surface_is_within_its_bound_of_vincentys(one: Degrees, other: Degrees) -> None:
    true_m = geodesics.surface_m(*one, *other)
    if true_m is not None:
        assert abs(apart_m(one, other) - true_m) <= bound_of(true_m) * true_m + 1e-3
    assert apart_m(one, other) == apart_m(other, one)


@given(DEGREES, st.floats(-8, 8), st.floats(-8, 8))
@example((0.0, 1.0), 8.0, 0.0)
@example((80.0, 1.0), 8.0, 0.0)
def test_so_it_is_nearby(one: Degrees, north: float, east: float) -> None:
    other = min(max(one[0] + north, -90.0), 90.0), min(max(one[1] + east, -180.0), 180.0)
    if not any(other):
        return
    true_m = geodesics.surface_m(*one, *other)
    assert true_m is not None
    assert abs(apart_m(one, other) - true_m) <= bound_of(true_m) * true_m + 1e-3


def test_height_is_a_side_of_a_right_angle() -> None:
    places = Places.of([EarthPlace(42, 13), EarthPlace(42, 13, -3_000), EarthPlace(42.01, 13)])
    along = places.distance_m(0, 2)
    assert places.distance_m([[0], [1]], [0, 1]).tolist() == [[0.0, 3_000.0], [3_000.0, 0.0]]
    assert places.distance_m(1, 2) == pytest.approx(np.hypot(along, 3_000), rel=1e-15)
    assert along == pytest.approx(1_110.7, abs=0.5)


@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 3), min_size=3, max_size=3))
def test_a_frame_is_straight(points: list[tuple[float, float, float]]) -> None:
    places = Places.of([FramePlace(*each) for each in points])
    apart = places.distance_m(np.arange(3)[:, None], np.arange(3))
    expected = [
        [sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 for other in points] for one in points
    ]
    np.testing.assert_allclose(apart, expected, rtol=1e-14, atol=1e-9)
    assert (apart == apart.T).all()
    assert apart[0, 2] <= apart[0, 1] + apart[1, 2] + 1e-6


def test_kinds_do_not_mix() -> None:
    earth, frame = EarthPlace(42, 13), FramePlace(1, 2)
    with pytest.raises(PlaceError, match=r"places\[1\] is FramePlace.*: a frame is one kind"):
        Places.of([earth, frame])
    with pytest.raises(PlaceError, match="others is 'FramePlace': of the kind EarthPlace"):
        Places.of([earth]).distance_m(0, 0, Places.of([frame]))
    with pytest.raises(PlaceError, match=r"places\[0\] is \(42, 13\): an EarthPlace or a FramePlace"):
        Places.of([(42, 13)])  # type: ignore[list-item]
    assert Places.of([earth])[0] == earth
    assert len(Places.of([])) == 0
