"""Every algorithm of the papers, the exact join, the streaming join and the oracle answer alike."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import CoincideError, Detections, Histogram, Window, timing_join
from coincide.errors import DetectionsError
from coincide.papers.algorithms import TIMING_JOINS, PaperAlgorithm
from coincide.papers.counted_answer import Work
from coincide.papers.interval_timing.correlation import simple
from coincide.papers.recording import Recording
from tests.examples import examples
from tests.reference import central_italy
from tests.reference.recorded_streams import (
    LONG_WINDOWS,
    SEVERAL_BUCKETS,
    SHORT_WINDOWS,
    UNIFORM,
    Recorded,
    by_definition,
    central_italy_slice,
    positions,
    recorded,
    streamed,
    templates_of_any_buckets,
    two_streams,
)

FOR_ANY_TEMPLATES = tuple(each for each in TIMING_JOINS if not each.uniform_templates_only)
FOR_ANY_WINDOW = tuple(each for each in TIMING_JOINS if not each.long_windows_only)

each_algorithm = pytest.mark.parametrize("algorithm", TIMING_JOINS, ids=lambda algorithm: algorithm.name)


def assert_all_answer_alike(streams: Recorded, algorithms: tuple[PaperAlgorithm, ...]) -> None:
    expected = positions(timing_join(streams.a, streams.b, streams.window, streams.threshold, sensors="any"))
    certain, possible = by_definition(streams)
    assert certain <= expected <= possible
    assert streamed(streams) == streamed(streams, most_a_push=5) == expected
    for algorithm in algorithms:
        assert positions(algorithm.run(*streams.question).members) == expected, algorithm.name


@pytest.mark.parametrize("base_us", range(-6_000_004, -5_999_995))
@pytest.mark.parametrize("threshold", [1.0, 1 - 1e-14, 0.999_999_999])
def test_a_window_exactly_as_long_as_both_templates(base_us: int, threshold: float) -> None:
    # What matches for certain is one microsecond long, or nothing once it is rounded inwards.
    a = Detections([base_us, base_us + 1, base_us + 3], [Histogram.uniform(-2, 2)], [0, 0, 0])
    b = Detections([-4_000_000], [Histogram.uniform(-4, 0)])
    for streams in (
        Recorded(a, b, [0, 1, 2, 3], Window(4), threshold),
        Recorded(b, a, [3, 2, 1, 0], Window(4), threshold),
    ):
        assert_all_answer_alike(streams, TIMING_JOINS)


@pytest.mark.parametrize("end_s", [2.01, 4.02, 1.1, 0.07, 9.03])
@pytest.mark.parametrize("past_us", [0, 1])
@pytest.mark.parametrize("lo_s", [0.0, -1.0, None])
def test_the_ends_of_a_decimal_window_belong_to_it(end_s: float, past_us: int, lo_s: float | None) -> None:
    at_us = round(end_s * 1e6) + past_us
    a, b = Detections([0], [Histogram.point()]), Detections([at_us, -at_us], [Histogram.point()])
    window = Window(end_s) if lo_s is None else Window(lo_s=lo_s, hi_s=end_s)
    for streams in (
        Recorded(a, b, [0, 1, 2], window, 0.5),
        Recorded(b, a, [1, 2, 0], Window(lo_s=-end_s, hi_s=0.5), 0.5),
    ):
        assert_all_answer_alike(streams, TIMING_JOINS)


@settings(max_examples=examples(50))
@given(recorded(UNIFORM, ()), st.sampled_from([1.0, 1 - 1e-14]))
def test_windows_exactly_as_long_as_uniform_templates_at_threshold_1(streams: Recorded, threshold: float) -> None:
    assert_all_answer_alike(replace(streams, threshold=threshold), TIMING_JOINS)


@settings(max_examples=examples(40))
@given(recorded(UNIFORM, LONG_WINDOWS))
def test_uniform_templates_in_long_windows(streams: Recorded) -> None:
    assert_all_answer_alike(streams, TIMING_JOINS)


@settings(max_examples=examples(20))
@given(recorded(UNIFORM, SHORT_WINDOWS))
def test_uniform_templates_in_short_windows(streams: Recorded) -> None:
    assert_all_answer_alike(streams, FOR_ANY_WINDOW)


@settings(max_examples=examples(20))
@given(recorded(UNIFORM + SEVERAL_BUCKETS, LONG_WINDOWS))
def test_templates_of_several_buckets(streams: Recorded) -> None:
    assert_all_answer_alike(streams, FOR_ANY_TEMPLATES)


@settings(max_examples=examples(25))
@given(recorded(templates_of_any_buckets(), LONG_WINDOWS, longest=6))
def test_templates_of_up_to_nine_buckets_some_without_mass(streams: Recorded) -> None:
    assert_all_answer_alike(streams, FOR_ANY_TEMPLATES)


@settings(max_examples=examples(15))
@given(recorded(templates_of_any_buckets(), SHORT_WINDOWS, longest=6))
def test_templates_of_up_to_nine_buckets_in_short_windows(streams: Recorded) -> None:
    assert_all_answer_alike(streams, tuple(each for each in FOR_ANY_WINDOW if not each.uniform_templates_only))


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
@pytest.mark.parametrize(
    ("uniform", "threshold", "late_s", "every_s"),
    [  # 1 and 8 buckets: too many fractions for the oracle
        *((True, 1.0, 5, 1e-6), (True, 0.5, 5, 1e-6), (False, 0.98, 5, 1e-6)),  # shuffled
        *((False, 0.5, 0, 1e-6), (False, 0.5, 5, 10.0)),  # in order, and in bursts
    ],
)
def test_picks_of_central_italy(uniform: bool, threshold: float, late_s: int, every_s: float) -> None:
    window = Window(lo_s=0.5, hi_s=8.0)
    streams = central_italy_slice(window, threshold, uniform=uniform, late_s=late_s, every_s=every_s)
    assert len(timing_join(streams.a, streams.b, streams.window, threshold, sensors="any")) > 100
    assert_all_answer_alike(streams, TIMING_JOINS if uniform else FOR_ANY_TEMPLATES)


@each_algorithm
def test_what_an_algorithm_assumes_is_refused_where_it_does_not_hold(algorithm: PaperAlgorithm) -> None:
    events = Detections([1_000_000], [SEVERAL_BUCKETS[0]])
    recording = two_streams(events, events)
    if algorithm.uniform_templates_only:
        with pytest.raises(CoincideError, match="one bucket"):
            algorithm.run(recording, Window(20), 0.5)
    if algorithm.long_windows_only:
        long_clock = Detections([1_000_000], [Histogram.uniform(-10, 0)])
        with pytest.raises(CoincideError, match="the longest templates of both streams together, 20 s"):
            algorithm.run(two_streams(long_clock, long_clock), Window(9.9), 0.5)


@each_algorithm
def test_no_events_no_pairs_and_no_threshold_above_1(algorithm: PaperAlgorithm) -> None:
    nothing = two_streams(Detections([], []), Detections([], []))
    result = algorithm.run(nothing, Window(1), 0.5)
    assert result.members.shape == (0, 2)
    assert result.work == Work()
    with pytest.raises(CoincideError, match="threshold"):
        algorithm.run(nothing, Window(1), 1.5)


def test_a_timing_join_takes_two_streams() -> None:
    three = Recording({name: Detections([], []) for name in "abc"})
    with pytest.raises(DetectionsError, match="two streams"):
        simple(three, Window(1), 0.5)
