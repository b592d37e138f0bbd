import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coincide.slides.shifts import longest_step_us, shifts_us


@given(st.integers(1, 200), st.integers(2, 40), st.integers(1, 10**6), st.integers(0, 10**9), st.data())
def test_any_two_sensors_are_apart_either_way_round(
    slides: int, sensors: int, least_us: int, spare_us: int, data: st.DataObject
) -> None:
    moments = sensors * least_us + spare_us
    assert longest_step_us(sensors, moments) >= least_us
    places = np.sort(shifts_us(data.draw(st.integers(1, slides)), slides, sensors, moments, least_us))
    assert (places >= 0).all()
    assert (places < moments).all()
    assert np.diff(np.append(places, places[0] + moments)).min() >= least_us


def test_they_are_the_same_on_every_machine() -> None:
    assert shifts_us(7, 100, 5, 10**9, 1_000).tolist() == SEVENTH
    assert shifts_us(0, 100, 5, 10**9, 1_000).tolist() == [0] * 5
    orders = {tuple(np.argsort(shifts_us(nth, 100, 5, 10**9, 1_000)).tolist()) for nth in range(1, 101)}
    assert len(orders) > 50


SEVENTH = [0, 7_000, 14_000, 28_000, 21_000]
