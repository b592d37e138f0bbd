"""What the interval paper claims of its algorithms, in counts: the same on every machine."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings

from coincide import Detections, Histogram, Window, timing_join
from coincide.papers.counted_answer import PaperResult, TimingAnswer, Work
from coincide.papers.interval_timing.correlation import eager, simple, simple_sort
from coincide.papers.interval_timing.lazy_correlation import is_no_later, lazy, lazy_lookup
from coincide.papers.interval_timing.regions import region_tables
from coincide.papers.recording import Event
from tests.examples import examples
from tests.reference.recorded_streams import Recorded, long_recording, positions, recorded, two_streams


@cache
def work_of(algorithm: Callable[..., PaperResult], events: int = 200) -> Work:
    return algorithm(*long_recording(events).question).work


@settings(max_examples=examples(20))
@given(recorded())
def test_eager_evaluates_the_probe_regions_and_nothing_else(streams: Recorded) -> None:
    tables, events, probed = region_tables(TimingAnswer(*streams.question)), streams.recording.events, 0
    for at, new in enumerate(events):
        regions = tables[new.stream].of(new)
        maxes_us = [other.latest_us for other in events[:at] if other.stream != new.stream]
        possible = [us for us in maxes_us if regions.lh_us <= us <= regions.rh_us]
        probed += sum(not regions.ll_us <= us <= regions.rl_us for us in possible)
    assert eager(*streams.question).work.probabilities == probed


@settings(max_examples=examples(20))
@given(recorded())
def test_simple_sort_does_the_work_of_simple_and_eager_no_more(streams: Recorded) -> None:
    by_eager, by_simple = eager(*streams.question).work, simple(*streams.question).work
    assert simple_sort(*streams.question).work == by_simple
    assert by_eager.scanned <= by_simple.scanned
    assert by_eager.buffered <= by_simple.buffered


@settings(max_examples=examples(20))
@given(recorded())
def test_look_up_answers_what_lazy_evaluates(streams: Recorded) -> None:
    evaluating, looking_up = lazy(*streams.question, block=6).work, lazy_lookup(*streams.question, block=6).work
    assert looking_up.probabilities + looking_up.lookups == evaluating.probabilities
    assert looking_up.scanned == evaluating.scanned


def test_on_a_long_recording_each_algorithm_saves_what_its_paper_says() -> None:
    by_simple, by_eager, by_lazy, by_lookup = map(work_of, (simple, eager, lazy, lazy_lookup))
    assert by_eager.scanned < 0.7 * by_simple.scanned
    assert by_eager.probabilities < 0.3 * by_simple.probabilities
    assert by_lookup.probabilities < 0.85 * by_lazy.probabilities


@pytest.mark.parametrize("algorithm", [simple, simple_sort, eager, lazy, lazy_lookup], ids=lambda each: each.__name__)
def test_buffers_stay_bounded(algorithm: Callable[..., PaperResult]) -> None:
    short, long = work_of(algorithm, 100).buffered, work_of(algorithm, 200).buffered
    assert long < 1.6 * short, "twice as many events, hardly more of them held at once"


def test_a_block_of_one_is_eager_and_a_later_one_waits_for_more_events_that_arrive_out_of_order() -> None:
    streams = long_recording()
    one_by_one, ten, hundred = (lazy(*streams.question, block=block).work for block in (1, 10, 100))
    at_once = work_of(eager)
    assert (one_by_one.scanned, one_by_one.probabilities) == (at_once.scanned, at_once.probabilities)
    assert ten.buffered < hundred.buffered
    assert any(event.latest_us < event.now_us for event in streams.recording)


@pytest.mark.parametrize("block", [20, 200])
@pytest.mark.parametrize("threshold", [0.95, 0.6, 0.3, 0.05])
def test_theorem_2_a_probability_looked_up_answers_as_one_evaluated(threshold: float, block: int) -> None:
    streams = replace(long_recording(), threshold=threshold)
    exact = timing_join(streams.a, streams.b, streams.window, threshold, sensors="any")
    measured = lazy_lookup(streams.recording, streams.window, threshold, block)
    assert positions(measured.members) == positions(exact)
    assert measured.work.lookups > 20


def test_an_event_inside_one_that_matched_is_evaluated_by_itself() -> None:
    # Threshold 0.5 compares means. The partner, at -8 to -2 s and in 20 s at 15 s on average, matches the base event at
    # 4 to 20 s (12 s), not the one at 15 to 19 s (17 s): its max is earlier, its min is not.
    a = Detections([20_000_000, 19_000_000], [Histogram.uniform(-16, 0), Histogram.uniform(-4, 0)], [0, 1])
    clocks = [Histogram.uniform(-6, 0), Histogram.uniform(-14, 0), Histogram.point()]
    b = Detections([-2_000_000], clocks, [0])
    measured = lazy_lookup(two_streams(a, b), Window(20), 0.5)
    assert positions(measured.members) == {(0, 0)}
    assert (measured.work.probabilities, measured.work.lookups) == (2, 0)


def test_ends_in_one_microsecond_are_in_no_order_unless_the_template_is_the_same() -> None:
    def event(template: int, earliest_us: int, latest_us: int) -> Event:
        return Event("a", 0, latest_us, template, earliest_us, latest_us, latest_us)

    assert is_no_later(event(0, 3, 7), event(0, 3, 7))
    assert is_no_later(event(0, 3, 7), event(1, 4, 8))
    assert not is_no_later(event(0, 3, 7), event(1, 3, 8))
    assert not is_no_later(event(0, 3, 7), event(1, 4, 7))
    assert not is_no_later(event(0, 4, 8), event(0, 3, 7))
