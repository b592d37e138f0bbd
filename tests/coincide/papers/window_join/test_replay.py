"""What the window join paper's algorithms are fed: exact times, keys, an order; everything else is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from coincide import Detections, Histogram
from coincide.errors import DetectionsError
from coincide.papers.window_join.window_buffers import HashBuffer, NestedLoopBuffer
from coincide.papers.window_join.window_replay import Arrivals, Point

EXACT = [Histogram.point()]
A, B = Detections([5, 7], EXACT), Detections([6], EXACT)


@pytest.mark.parametrize(
    ("frames", "given", "message"),
    [
        ({"a": Detections([5], [Histogram.uniform(-1, 0)])}, {}, "templates is .*'a'.*assume exact times"),
        ({"a": Detections([5], [Histogram.point().shift(0.25e-6)])}, {}, "at a whole microsecond"),
        ({"a": A, "b": B}, {"order": [0, 1]}, "order is .*permutation of 0 to 2"),
        ({"a": A, "b": B}, {"order": [0, 1, 1]}, "order is .*permutation of 0 to 2"),
        ({"a": A, "b": B}, {"key": {"a": [1, 2]}}, r"key is \['a'\]: labels for every stream: 'b' has none"),
        ({"a": A}, {"key": {"a": [1]}}, r"shape \(1,\) for stream .*each of its 2 rows"),
        ({"a": A}, {"key": {"a": [0.5, 1.5]}}, 'key is "an array of float64'),
        ({"a": Detections([5], EXACT, area=["x"]), "b": B}, {}, "area is .*: one area for all rows"),
        ({"a": Detections([5, 6], EXACT, area=[1, 2])}, {}, r"area is \[1, 2\]"),
    ],
)
def test_what_cannot_be_used_is_refused(frames: dict[str, Detections], given: dict[str, Any], message: str) -> None:
    with pytest.raises(DetectionsError, match=message):
        Arrivals(frames, **given)


def test_by_default_in_order_of_time_and_at_ties_of_streams() -> None:
    arrivals = Arrivals({"b": Detections([7, 5], EXACT), "a": Detections([7, 6], EXACT)})
    assert [(point.stream, point.row) for point in arrivals] == [("b", 1), ("a", 1), ("b", 0), ("a", 0)]
    assert arrivals.disorder_us == {"b": 0, "a": 0}
    assert len(arrivals) == 4


def test_times_are_those_of_the_occurrence_and_arrival_is_the_greatest_so_far() -> None:
    late_clock = [Histogram.point().shift(-3e-6)]
    arrivals = Arrivals({"a": Detections([10, 4], late_clock), "b": Detections([6], EXACT)}, order=[0, 2, 1])
    assert [(point.time_us, point.now_us) for point in arrivals] == [(7, 7), (6, 7), (1, 7)]
    assert arrivals.disorder_us == {"a": 6, "b": 0}


def test_a_hash_table_drops_in_order_of_time_and_forgets_empty_buckets() -> None:
    table, queue = HashBuffer(), NestedLoopBuffer()
    for row, (time_us, key) in enumerate([(3, "x"), (1, "y"), (2, "x"), (2, "y")]):
        for buffer in (table, queue):
            buffer.insert(Point("a", row, time_us, key, 3))
    assert [point.row for point in table.newest_first("x")] == [0, 2]
    assert [point.row for point in queue.newest_first("x")] == [0, 3, 2, 1]
    dropped = []
    while table.oldest is not None:
        dropped.append(table.oldest.row)
        table.drop_oldest()
    assert dropped == [1, 2, 3, 0]
    assert len(table) == 0
    assert list(table.newest_first("x")) == []
