"""What the papers' algorithms read: events in an order of arrival, and what is known of their streams."""

from typing import Any

import pytest
from hypothesis import given, settings

from coincide import Detections, Histogram
from coincide.errors import DetectionsError
from coincide.papers.recording import Recording
from tests.examples import examples
from tests.reference.recorded_streams import Recorded, recorded, two_streams

CLOCK = [Histogram.uniform(-2, 1)]
EXACT = [Histogram.point()]
A, B = Detections([5, 7], EXACT), Detections([6], EXACT)


def test_events_arrive_by_reported_time_and_at_ties_by_stream() -> None:
    recording = Recording({"b": Detections([7, 5], EXACT), "a": Detections([7, 6], CLOCK)})
    assert [(event.stream, event.row) for event in recording] == [("b", 1), ("a", 1), ("b", 0), ("a", 0)]
    assert [known.disorder_us for known in recording.parameters.values()] == [0, 0]
    assert len(recording) == 4


def test_an_event_says_when_it_may_have_happened_and_how_far_time_had_come() -> None:
    first, second = two_streams(Detections([10_000_000], CLOCK), Detections([12_000_000], CLOCK), order=[1, 0])
    assert (first.stream, first.latest_us, first.now_us) == ("b", 13_000_000, 13_000_000)
    assert (second.earliest_us, second.latest_us, second.now_us) == (8_000_000, 11_000_000, 13_000_000)
    late_clock = [Histogram.point().shift(-3e-6)]  # exact times are those of the occurrence
    recording = two_streams(Detections([10, 4], late_clock), Detections([6], EXACT), order=[0, 2, 1])
    assert [(event.latest_us, event.now_us) for event in recording] == [(7, 7), (6, 7), (1, 7)]
    assert [known.disorder_us for known in recording.parameters.values()] == [6, 0]


def test_parameters_of_a_stream() -> None:
    known = two_streams(Detections([10_000_000, 4_000_000], CLOCK + EXACT, [1, 1]), Detections([], [])).parameters
    assert (known["a"].longest_s, known["a"].shortest_s, known["a"].max_delay_us) == (3.0, 0.0, 0)
    assert (known["b"].longest_s, known["b"].shortest_s, known["b"].max_delay_us) == (0.0, 0.0, 0)


@settings(max_examples=examples(20))
@given(recorded())
def test_no_event_is_later_than_its_stream_promises(streams: Recorded) -> None:
    for stream, known in streams.recording.parameters.items():
        late_us = [event.now_us - event.latest_us for event in streams.recording if event.stream == stream]
        assert max(late_us) == known.max_delay_us


@pytest.mark.parametrize(
    ("streams", "given", "message"),
    [
        *(
            ({"a": Detections([1], CLOCK), "b": Detections([1], CLOCK)}, {"order": order}, "order is .*each row once")
            for order in ([0], [0, 0], [1, 2], [[0, 1]], [])
        ),
        ({"a": A, "b": B}, {"order": [0, 1]}, "order is .*permutation of 0 to 2"),
        ({"a": A, "b": B}, {"order": [0, 1, 1]}, "order is .*permutation of 0 to 2"),
        ({"a": A, "b": B}, {"key": {"a": [1, 2]}}, r"key is \['a'\]: labels for every stream: 'b' has none"),
        ({"a": A}, {"key": {"a": [1]}}, r"shape \(1,\) for stream .*each of its 2 rows"),
        ({"a": A}, {"key": {"a": [0.5, 1.5]}}, 'key is "an array of float64'),
        ({"a": Detections([5], EXACT, area=["x"]), "b": B}, {}, "area is .*: one area for all rows"),
        ({"a": Detections([5], EXACT, area=["x"]), "b": Detections([5], EXACT, area=["y"])}, {}, "one area for all"),
        ({"a": Detections([5, 6], EXACT, area=[1, 2])}, {}, r"area is \[1, 2\]"),
    ],
)
def test_what_cannot_be_used_is_refused(streams: dict[str, Detections], given: dict[str, Any], message: str) -> None:
    with pytest.raises(DetectionsError, match=message):
        Recording(streams, **given)
