"""What the interval paper claims of its algorithms, in counts: the same on every machine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from coincide.papers.interval_timing.correlation import eager, simple, simple_sort
from coincide.papers.interval_timing.lazy_correlation import lazy, lazy_lookup
from coincide.papers.interval_timing.regions import region_tables
from coincide.papers.timing_events import Arrivals, Event
from coincide.papers.timing_replay import Work
from tests.reference.recorded_streams import Recorded, long_recording, recorded


def in_probe_region(new: Event, other: Event, streams: Recorded) -> bool:
    regions = region_tables(streams.arrivals, streams.window, streams.threshold)[new.side].of(new)
    sure = regions.ll_us <= other.latest_us <= regions.rl_us
    return regions.lh_us <= other.latest_us <= regions.rh_us and not sure


@settings(max_examples=20)
@given(recorded())
def test_simple_sort_does_the_work_of_simple(streams: Recorded) -> None:
    asked = streams.arrivals, streams.window, streams.threshold
    assert simple_sort(*asked).work == simple(*asked).work


@settings(max_examples=20)
@given(recorded())
def test_eager_evaluates_the_probe_regions_and_nothing_else(streams: Recorded) -> None:
    events = streams.arrivals.events
    in_order = ((new, other) for at, new in enumerate(events) for other in events[:at] if other.side != new.side)
    probed = sum(in_probe_region(new, other, streams) for new, other in in_order)
    assert eager(streams.arrivals, streams.window, streams.threshold).work.probabilities == probed


@settings(max_examples=20)
@given(recorded())
def test_eager_scans_no_more_than_simple(streams: Recorded) -> None:
    asked = streams.arrivals, streams.window, streams.threshold
    assert eager(*asked).work.scanned <= simple(*asked).work.scanned
    assert eager(*asked).work.buffered <= simple(*asked).work.buffered


@settings(max_examples=20)
@given(recorded())
def test_look_up_answers_what_lazy_evaluates(streams: Recorded) -> None:
    asked = streams.arrivals, streams.window, streams.threshold
    evaluating, looking_up = lazy(*asked, block=6).work, lazy_lookup(*asked, block=6).work
    assert looking_up.probabilities + looking_up.lookups == evaluating.probabilities
    assert looking_up.scanned == evaluating.scanned


def test_on_a_long_recording_each_algorithm_saves_what_its_paper_says() -> None:
    streams = long_recording()
    asked = streams.arrivals, streams.window, streams.threshold
    by_simple, by_eager, by_lazy, by_lookup = (each(*asked).work for each in (simple, eager, lazy, lazy_lookup))
    assert by_eager.scanned < 0.7 * by_simple.scanned
    assert by_eager.probabilities < 0.3 * by_simple.probabilities
    assert by_lookup.probabilities < 0.85 * by_lazy.probabilities


@pytest.mark.parametrize("algorithm", [simple, simple_sort, eager, lazy, lazy_lookup], ids=lambda each: each.__name__)
def test_buffers_stay_bounded(algorithm: object) -> None:
    assert callable(algorithm)
    short, long = long_recording(events=100), long_recording(events=200)
    held = [algorithm(each.arrivals, each.window, each.threshold).work.buffered for each in (short, long)]
    assert held[1] < 1.6 * held[0], "twice as many events, hardly more of them held at once"


def test_a_later_block_waits_for_more_events() -> None:
    streams = long_recording()
    asked = streams.arrivals, streams.window, streams.threshold
    assert lazy(*asked, block=10).work.buffered < lazy(*asked, block=100).work.buffered


def test_a_block_of_one_is_eager() -> None:
    streams = long_recording()
    asked = streams.arrivals, streams.window, streams.threshold
    one_by_one, at_once = lazy(*asked, block=1).work, eager(*asked).work
    assert (one_by_one.scanned, one_by_one.probabilities) == (at_once.scanned, at_once.probabilities)


def test_work_adds_up() -> None:
    done = Work(scanned=3, probabilities=2, lookups=1, buffered=9)
    assert done + replace(done, buffered=4) == Work(scanned=6, probabilities=4, lookups=2, buffered=9)
    assert done + Work() == done


def test_the_recording_arrives_out_of_order() -> None:
    events = long_recording().arrivals.events
    assert isinstance(long_recording().arrivals, Arrivals)
    assert any(event.latest_us < event.now_us for event in events)
