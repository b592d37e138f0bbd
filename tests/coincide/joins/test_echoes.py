from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import ConstraintGraph, Detections, Histogram, Window, window_join
from coincide.errors import DetectionsError
from coincide.joins import without_echoes
from coincide.learning import consensus_of

EXACT = [Histogram.point()]
Report = tuple[int, str, str, int]  # time, area, sensor, id

reports = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from("xy"), st.sampled_from("ab"), st.integers(0, 99)),
    max_size=25,
    unique_by=lambda each: each[3],
)


def detections(rows: list[Report]) -> Detections:
    at_us, area, sensor, name = ([row[nth] for row in rows] for nth in range(4))
    return Detections(at_us, EXACT, area=area, sensor=sensor, id=name)


def counted(rows: list[Report], echo_us: int) -> list[int]:
    names: list[int] = np.asarray(without_echoes(detections(rows), echo_us / 1e6).id).tolist()
    return names


def slow_counted(rows: list[Report], echo_us: int) -> list[int]:
    """Try every other report of the sensor: does it come before this one, and not long before?"""

    def is_echo(of: Report) -> bool:
        others = (other for other in rows if other[1:3] == of[1:3] and (other[0], other[3]) < (of[0], of[3]))
        return any(of[0] - other[0] <= echo_us for other in others)

    return [row[3] for row in rows if not is_echo(row)]


@given(reports, st.integers(0, 20))
def test_an_echo_follows_another_report_of_its_sensor_closely(rows: list[Report], echo_us: int) -> None:
    assert counted(rows, echo_us) == slow_counted(rows, echo_us)


@given(reports, st.integers(0, 20), st.randoms())
def test_neither_the_order_of_rows_nor_repeating_it_matters(rows: list[Report], echo_us: int, random: Any) -> None:
    mixed = random.sample(rows, len(rows))
    assert sorted(counted(mixed, echo_us)) == sorted(counted(rows, echo_us))
    once = without_echoes(detections(rows), echo_us / 1e6)
    assert without_echoes(once, echo_us / 1e6) is once


def test_an_echo_of_two_decimals_reaches_its_last_microsecond() -> None:
    for echo_s, echo_us in ((2.01, 2_010_000), (4.02, 4_020_000), (0.29, 290_000)):
        batch = Detections([0, echo_us, 9 * 10**6, 9 * 10**6 + echo_us + 1], EXACT, sensor=["a"] * 4)
        assert without_echoes(batch, echo_s).detected_at_us.tolist() == [0, 9 * 10**6, 9 * 10**6 + echo_us + 1]


def test_who_names_no_sensor_makes_no_echoes() -> None:
    batch = Detections([0, 0, 1], EXACT)
    assert without_echoes(batch, 1.0) is batch


def test_three_sensors_that_report_one_bang_twice_are_one_event() -> None:
    """Without it: 8 tuples, and no consensus."""
    uncertain = [Histogram.uniform(-1, 0)]
    heard = {name: Detections([1_000_000, 1_200_000], uncertain, sensor=[name] * 2) for name in "abc"}
    graph = ConstraintGraph.clique("abc", Window(2), 0.5)
    assert len(window_join(heard, graph)) == 8
    once = {name: without_echoes(batch, 0.5) for name, batch in heard.items()}
    assert window_join(once, graph).members.tolist() == [[0, 0, 0]]
    both = [np.concatenate([batch.detected_at_us for batch in each.values()]) for each in (heard, once)]
    said = [consensus_of(at_us, np.full(len(at_us), 3e5), np.arange(3).repeat(len(at_us) // 3)) for at_us in both]
    assert [(len(each.at_us), each.ambiguous) for each in said] == [(0, 1), (1, 0)]


@pytest.mark.parametrize("echo_s", [-0.1, float("nan"), 2e9, "1", True])
def test_a_time_that_is_none_is_refused(echo_s: Any) -> None:
    with pytest.raises(DetectionsError, match=r"^echo_s is .*: seconds, from 0 to 1e\+09"):
        without_echoes(Detections([0], EXACT), echo_s)
