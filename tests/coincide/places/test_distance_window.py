from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Window
from coincide.errors import PlaceError, WindowError
from coincide.places import DistanceWindow, TravelTimes


@given(st.integers(0, 10**7), st.integers(1, 10**5), st.integers(0, 10_000))
def test_it_is_rounded_up_to_a_millisecond(distance_m: int, speed_m_s: int, slack_ms: int) -> None:
    exact = Fraction(distance_m * 1000, speed_m_s) + slack_ms
    width_ms = int(DistanceWindow(speed_m_s, slack_ms / 1000).half_width_ms(distance_m))
    assert width_ms == -(-exact.numerator // exact.denominator) or abs(exact - width_ms) < Fraction(1, 500_000)


def test_whole_milliseconds_stay() -> None:
    assert DistanceWindow(343, 0.2).half_width_ms([343 * n for n in range(1000)]).tolist() == [
        200 + 1000 * n for n in range(1000)
    ]


def test_a_table_makes_a_window_as_a_speed_does() -> None:
    table = TravelTimes([0, 6_000, 12_000], [0, 1, 2])
    assert DistanceWindow(table, 0.5).window(9_000) == DistanceWindow(6_000, 0.5).window(9_000) == Window(2.0)
    assert DistanceWindow(table).window(0) == Window(0)


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(WindowError, match="slack_s is -1: a number of seconds from 0 to 1000000"):
        DistanceWindow(343, -1)
    with pytest.raises(PlaceError, match="speed_m_s is 0"):
        DistanceWindow(0)
    with pytest.raises(PlaceError, match="distance_m is -1: numbers of metres, at least 0"):
        DistanceWindow(343).window(-1)
    with pytest.raises(WindowError, match=r"distance_m is 10000000.0: a window of at most 1e.09 s"):
        DistanceWindow(0.001, 1e6).half_width_ms([1e7])
