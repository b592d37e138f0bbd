from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Detections, Histogram
from coincide.errors import DetectionsError
from coincide.papers.timing_events import Arrivals, Event, MaxSortedBuffer
from tests.reference.recorded_streams import Recorded, recorded

CLOCK = [Histogram.uniform(-2, 1)]


def test_events_arrive_by_reported_time_a_first_at_ties() -> None:
    arrivals = Arrivals(Detections([5, 3], CLOCK), Detections([3, 4], CLOCK))
    assert [(event.side, event.row) for event in arrivals] == [("a", 1), ("b", 0), ("b", 1), ("a", 0)]
    assert len(arrivals) == 4


def test_an_event_says_when_it_may_have_happened_and_how_far_time_had_come() -> None:
    a, b = Detections([10_000_000], CLOCK), Detections([12_000_000], CLOCK)
    first, second = Arrivals(a, b, order=[1, 0])
    assert (first.side, first.latest_us, first.now_us) == ("b", 13_000_000, 13_000_000)
    assert (second.earliest_us, second.latest_us, second.now_us) == (8_000_000, 11_000_000, 13_000_000)


def test_parameters_of_a_stream() -> None:
    clocks = [*CLOCK, Histogram.point()]
    known = Arrivals(Detections([10_000_000, 4_000_000], clocks, [1, 1]), Detections([], [])).parameters
    assert (known["a"].longest_s, known["a"].shortest_s, known["a"].max_delay_us) == (3.0, 0.0, 0)
    assert (known["b"].longest_s, known["b"].shortest_s, known["b"].max_delay_us) == (0.0, 0.0, 0)


@settings(max_examples=20)
@given(recorded())
def test_no_event_is_later_than_its_stream_promises(streams: Recorded) -> None:
    arrivals = streams.arrivals
    for side, known in arrivals.parameters.items():
        late_us = [event.now_us - event.latest_us for event in arrivals if event.side == side]
        assert max(late_us) == known.max_delay_us


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 2], [[0, 1]], []])
def test_an_order_that_does_not_name_every_row_once_is_refused(order: list[int]) -> None:
    one = Detections([1], CLOCK)
    with pytest.raises(DetectionsError, match="each row once"):
        Arrivals(one, one, order)


@pytest.mark.parametrize(("area_a", "area_b"), [("bay", "hill"), ("bay", None)])
def test_several_areas_are_refused(area_a: str, area_b: str | None) -> None:
    a, b = (Detections([1], CLOCK, area=None if area is None else [area]) for area in (area_a, area_b))
    with pytest.raises(DetectionsError, match="one area"):
        Arrivals(a, b)


def event(row: int, latest_us: int) -> Event:
    return Event("a", row, latest_us, 0, latest_us, latest_us, latest_us)


@given(st.lists(st.integers(0, 20), max_size=12), st.lists(st.integers(0, 20), max_size=12), *[st.integers(-1, 21)] * 3)
def test_a_buffer_is_a_sorted_list(first: list[int], inserted: list[int], lo_us: int, hi_us: int, cut_us: int) -> None:
    buffer = MaxSortedBuffer(event(row, latest_us) for row, latest_us in enumerate(first))
    for row, latest_us in enumerate(inserted, start=len(first)):
        buffer.insert(event(row, latest_us))
    expected = sorted(enumerate([*first, *inserted]), key=lambda row: row[1])

    assert [(held.row, held.latest_us) for held in buffer] == expected
    assert [held.row for held in buffer.between(lo_us, hi_us)] == [row for row, us in expected if lo_us <= us <= hi_us]
    assert buffer.first_from(lo_us) == sum(us < lo_us for _, us in expected)
    assert buffer.drop_before(cut_us) == sum(us < cut_us for _, us in expected)
    assert [buffer[at].row for at in range(len(buffer))] == [row for row, us in expected if us >= cut_us]
