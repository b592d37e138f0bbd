import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.errors import PlaceError
from coincide.places import TravelTimes


def test_a_layered_model_is_a_table_of_its_first_arrivals() -> None:
    """A source and a sensor on the surface: through the upper layer, or along the lower one (a head wave)."""
    thick_m, slow, fast = 3_000.0, 3_000.0, 6_000.0
    distance = np.arange(0.0, 60_001.0, 500.0)
    head = distance / fast + 2 * thick_m * np.sqrt(slow**-2 - fast**-2)
    first = np.minimum(distance / slow, head)
    table = TravelTimes(distance, first)
    at = np.array([0.0, 250.0, 7_000.0, 33_333.0, 90_000.0])
    expected = np.minimum(at / slow, at / fast + 2 * thick_m * np.sqrt(slow**-2 - fast**-2))
    np.testing.assert_allclose(table.time_s(at), expected, atol=0.05)
    assert (table.time_s(at) <= expected + 1e-12).all()  # straight lines lie below a concave curve
    assert table.slowness_at_s_m(np.array([0.0, 9_999.0, 9e9])) == pytest.approx([1 / slow, 1 / slow, 1 / fast])


@given(st.lists(st.tuples(st.floats(1, 1e5), st.floats(100, 9_000)), min_size=1, max_size=9))
def test_it_is_concave_and_so_admits_every_source(rows: list[tuple[float, float]]) -> None:
    """The difference of two travel times is at most that over a distance that is as long as theirs differ."""
    distance = np.cumsum([0.0, *(length for length, _ in rows)])
    slowness = sorted((1 / speed for _, speed in rows), reverse=True)
    time = np.cumsum([0.0, *(length * each for (length, _), each in zip(rows, slowness, strict=True))])
    table = TravelTimes(distance, time)
    np.testing.assert_allclose(table.time_s(distance), time, rtol=1e-9)
    near, between = np.meshgrid(np.linspace(0, distance[-1] * 1.5, 12), np.linspace(0, distance[-1] * 1.5, 12))
    assert (table.time_s(near + between) <= table.time_s(near) + table.time_s(between) + 1e-9).all()


def test_rounding_is_raised_to_the_next_concave_table() -> None:
    rounded = TravelTimes([0, 1_000, 2_000, 3_000], [0, 0.166, 0.333, 0.5])
    assert rounded.time_s([1_000, 2_000]).tolist() == pytest.approx([1 / 6, 1 / 3])
    assert rounded == TravelTimes([0, 1_000, 2_000, 3_000], [0, 0.166, 0.333, 0.5])
    assert rounded != TravelTimes.at_speed(6_000)
    assert len({rounded, TravelTimes([0, 1_000, 2_000, 3_000], [0, 0.166, 0.333, 0.5])}) == 1


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        (([0, 1_000, 2_000], [0, 0.1, 0.5]), r"time_s\[1\] is 0.1: no speed that falls with distance"),
        (([1, 2], [0, 1]), "distance_m is .*: 0, then each greater than the one before"),
        (([0, 2, 2], [0, 1, 2]), "distance_m is .*: 0, then each greater"),
        (([0, 1, 2], [0, 2, 1]), "time_s is .*: 0, then each greater"),
        (([0, 1], [0, float("nan")]), "time_s is .*: 0, then each greater"),
        (([0], [0]), "distance_m is .*: 2 to 10,000 distances"),
        (([0, 1], [0, 1, 2]), "time_s is .*: a time for each of 2 distances"),
        (([0, 1e6], [0, 1e-4]), "time_s is 10000000000.0: speeds from 0.001 to 3e.08 metres a second"),
        ((["0", "1"], [0, 1]), "distance_m is .*: numbers of metres"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(columns: tuple[list[float], list[float]], fault: str) -> None:
    with pytest.raises(PlaceError, match=fault):
        TravelTimes(*columns)


@pytest.mark.parametrize("speed", [0, -343, float("inf"), "343", None, True, 4e8])
def test_a_speed_is_a_number_above_0(speed: float) -> None:
    with pytest.raises(PlaceError, match=r"speed_m_s is .*: metres a second, from 0\.001 to 3e.08; sound in air makes"):
        TravelTimes.at_speed(speed)
