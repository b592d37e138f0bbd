"""Deadlines and delays: windows open to one side, for frames but not for streams."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Detections, Histogram, Stream, TimingJoin, Window, WindowError, timing_join, timing_join_blocks
from coincide.area_keys import EARLIEST_TIME_US, LATEST_TIME_US
from coincide.query import Query
from coincide.timing_join.algorithms import ALGORITHMS
from coincide.timing_join.condition import JoinCondition
from coincide.within import QueryError, Within
from tests.reference.recorded_streams import SEVERAL_BUCKETS, UNIFORM, Found, Recorded, positions, recorded

OPEN_WINDOWS = (Window.deadline(2.0), Window.deadline(-1.5), Window.delay(0.0), Window.delay(3.0))


def by_one_cdf(streams: Recorded) -> Found:
    """P(Xb - Xa <= d) by drawing all of Xa at fixed quantiles: no code in common with the window's two ends."""
    a, b, window = streams.a, streams.b, streams.window
    is_deadline = window.hi_s < -window.lo_s
    found = set()
    for left, right in np.ndindex(len(a), len(b)):
        u, v = a.templates[a.template_index[left]], b.templates[b.template_index[right]]
        offset_s = (b.detected_at_us[right] - a.detected_at_us[left]) / 1e6
        limit_s = (window.hi_s if is_deadline else window.lo_s) - offset_s
        at_most = mean_cdf(u, v, float(limit_s))
        probability = at_most if is_deadline else 1 - at_most
        if probability >= streams.threshold:
            found.add((left, right))
    return found


def mean_cdf(u: Histogram, v: Histogram, limit_s: float) -> float:
    """P(Xv <= Xu + limit), the mean of v's cdf over 1,000 equally likely times of u."""
    times_s = u.quantile((np.arange(1000) + 0.5) / 1000)
    return float(np.mean(v.cdf(times_s + limit_s)))


@settings(max_examples=25)
@given(recorded(UNIFORM + SEVERAL_BUCKETS, OPEN_WINDOWS, longest=6), st.sampled_from([0.31, 0.57, 0.83]))
def test_one_end_decides(streams: Recorded, threshold: float) -> None:
    streams = Recorded(streams.a, streams.b, streams.order, streams.window, threshold)
    found = positions(timing_join(streams.a, streams.b, streams.window, threshold, sensors="any"))
    nearly = {
        "stricter": by_one_cdf(Recorded(streams.a, streams.b, [], streams.window, threshold + 0.004)),
        "milder": by_one_cdf(Recorded(streams.a, streams.b, [], streams.window, threshold - 0.004)),
    }
    assert nearly["stricter"] <= found <= nearly["milder"]


@settings(max_examples=20)
@given(recorded(UNIFORM, OPEN_WINDOWS))
def test_the_papers_algorithms_take_them_too(streams: Recorded) -> None:
    expected = timing_join(streams.a, streams.b, streams.window, streams.threshold, sensors="any")
    for algorithm in ALGORITHMS:
        found = algorithm.run(streams.arrivals, streams.window, streams.threshold).pairs
        assert positions(found) == positions(expected), algorithm.name


def test_as_far_apart_as_two_detections_can_be() -> None:
    first, last = (Detections([time_us], [Histogram.uniform(-1, 1)]) for time_us in (EARLIEST_TIME_US, LATEST_TIME_US))
    assert len(timing_join(last, first, Window.deadline(1), 1.0)) == 1
    assert len(timing_join(first, last, Window.deadline(1), 0.001)) == 0
    pairs = timing_join(first, last, Window.delay(1), 1.0)
    assert pairs.probability.tolist() == [1.0]
    assert sum(len(part) for part in timing_join_blocks(first, last, Window.delay(1), 1.0)) == 1


def test_a_self_join_tries_both_orders() -> None:
    times = Detections([0, 1_000_000, 5_000_000], [Histogram.point()])
    assert positions(timing_join(times, None, Window.delay(1.0), 1.0)) == {(0, 1), (0, 2), (1, 2)}
    assert positions(timing_join(times, None, Window.deadline(0.0), 1.0)) == {(1, 0), (2, 0), (2, 1)}


def test_what_they_are() -> None:
    deadline = Window.deadline(2)
    assert deadline.is_open
    assert not Window(2).is_open
    assert not deadline.is_symmetric
    assert deadline.swapped() == Window.delay(-2)
    assert pickle.loads(pickle.dumps(deadline)) == deadline


@pytest.mark.parametrize("make", [Window.deadline, Window.delay])
@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 2e9, "2"])
def test_an_end_that_is_no_number_is_refused(make: object, seconds: object) -> None:
    assert callable(make)
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
    with pytest.raises(QueryError, match="finite and at most 1e"):
        Query.from_json({"id": "q", "from": {"s": "seismic", "a": "acoustic"}, "within": [edge]})
