"""Deadlines and delays: windows open to one side, for batches but not for streams."""

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from coincide import Detections, Histogram, Stream, TimingJoin, Window, chance_rate, match_probability, timing_join
from coincide.arrays.instants import EARLIEST_TIME_US, LATEST_TIME_US
from coincide.constraints import JoinCondition
from coincide.errors import OffsetError, QueryError, WindowError
from coincide.joins import timing_join_blocks
from coincide.papers.algorithms import TIMING_JOINS
from coincide.queries import Query, Within
from coincide.thresholds import SensorRate
from tests.examples import examples
from tests.reference.offsets import probability_at
from tests.reference.recorded_streams import SEVERAL_BUCKETS, UNIFORM, PairSet, Recorded, positions, recorded

OPEN_WINDOWS = (Window.deadline(2.0), Window.deadline(-1.5), Window.delay(0.0), Window.delay(3.0))


def by_definition(streams: Recorded) -> PairSet:
    """Pairs in exact arithmetic, one at a time."""
    a, b = streams.a, streams.b

    def is_match(left: int, right: int) -> bool:
        u, v = a.templates[a.template_index[left]], b.templates[b.template_index[right]]
        offset_us = int(b.detected_at_us[right] - a.detected_at_us[left])
        return probability_at(u, v, offset_us, streams.window) >= Fraction(streams.threshold) - Fraction(1, 10**13)

    return {(left, right) for left, right in np.ndindex(len(a), len(b)) if is_match(left, right)}


@settings(max_examples=examples(25))
@given(recorded(UNIFORM + SEVERAL_BUCKETS, OPEN_WINDOWS, longest=6))
def test_batches_are_joined_by_definition(streams: Recorded) -> None:
    found = timing_join(streams.a, streams.b, streams.window, streams.threshold, sensors="any")
    assert positions(found) == by_definition(streams)


def test_one_end_is_the_cdf_of_the_difference() -> None:
    # v uniform on [0, 4], u exact, reported 1 s apart: v at most 2 s after u in a quarter of all cases
    u, v = Detections([0], [Histogram.point()]), Detections([1_000_000], [Histogram.uniform(0, 4)])
    assert timing_join(u, v, Window.deadline(2.0), 0.2).probability.tolist() == [0.25]
    assert timing_join(u, v, Window.delay(2.0), 0.2).probability.tolist() == [0.75]


@settings(max_examples=examples(20))
@given(recorded(UNIFORM, OPEN_WINDOWS))
def test_the_papers_algorithms_take_them_too(streams: Recorded) -> None:
    expected = timing_join(streams.a, streams.b, streams.window, streams.threshold, sensors="any")
    for algorithm in TIMING_JOINS:
        assert positions(algorithm.run(*streams.question).members) == positions(expected), algorithm.name


def test_as_far_apart_as_two_detections_can_be() -> None:
    first, last = (Detections([time_us], [Histogram.uniform(-1, 1)]) for time_us in (EARLIEST_TIME_US, LATEST_TIME_US))
    assert len(timing_join(last, first, Window.deadline(1), 1.0)) == 1
    assert len(timing_join(first, last, Window.deadline(1), 0.001)) == 0
    pairs = timing_join(first, last, Window.delay(1), 1.0)
    assert pairs.probability.tolist() == [1.0]
    assert sum(len(part) for part in timing_join_blocks(first, last, Window.delay(1), 1.0)) == 1


def test_open_beyond_the_longest_templates_too() -> None:
    last = Detections([4_400_000_000_000_000], [Histogram.uniform(9e8, 1e9)])
    first = Detections([-2_200_000_000_000_000], [Histogram.uniform(-1e9, -9e8)])
    assert timing_join(last, first, Window.deadline(1), 1.0).probability.tolist() == [1.0]
    assert timing_join(first, last, Window.delay(1), 1.0).probability.tolist() == [1.0]


def test_the_furthest_offset_is_still_inside() -> None:
    exact = Histogram.point()
    assert match_probability(exact, exact, [-7e9, 7e9], Window.delay(1)).tolist() == [0.0, 1.0]
    with pytest.raises(OffsetError, match="7e"):
        match_probability(exact, exact, 7.1e9, Window.delay(1))


def test_no_chance_rate_without_end() -> None:
    with pytest.raises(WindowError, match="two ends"):
        chance_rate([SensorRate("s", Histogram.point(), 0.1)], None, Window.delay(1), 0.5)


def test_a_self_join_tries_both_orders() -> None:
    times = Detections([0, 1_000_000, 5_000_000], [Histogram.point()])
    assert positions(timing_join(times, None, Window.delay(1.0), 1.0)) == {(0, 1), (0, 2), (1, 2)}
    assert positions(timing_join(times, None, Window.deadline(0.0), 1.0)) == {(1, 0), (2, 0), (2, 1)}


def test_what_they_are() -> None:
    deadline = Window.deadline(2)
    assert (deadline.is_open, Window(2).is_open, deadline.is_symmetric) == (True, False, False)
    assert deadline.swapped() == Window.delay(-2)
    assert pickle.loads(pickle.dumps(deadline)) == deadline


@pytest.mark.parametrize("make", [Window.deadline, Window.delay])
@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 2e9, "2"])
def test_an_end_that_is_no_number_is_refused(make: Callable[[Any], Window], seconds: object) -> None:
    with pytest.raises(WindowError):
        make(seconds)


@pytest.mark.parametrize("window", OPEN_WINDOWS)
def test_streams_and_queries_refuse_them(window: Window) -> None:
    with pytest.raises(WindowError, match="closed at both ends in a stream"):
        TimingJoin(Stream("a"), Stream("b"), window, 0.5)
    with pytest.raises(WindowError, match="window"):
        JoinCondition("a", "b", window, 0.5)
    with pytest.raises(QueryError, match="closed at both ends"):
        Within("s", "a", window, 0.5)


def test_a_query_cannot_name_one() -> None:
    edge = {"between": ["s", "a"], "lo_s": -7.5e9, "hi_s": 2.0, "threshold": 0.5}
    with pytest.raises(QueryError, match="a number of seconds from"):
        Query.from_json({"id": "q", "from": {"s": "seismic", "a": "acoustic"}, "within": [edge]})
