"""Where the printed algorithms are wrong or silent, and what ours do there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coincide import Detections, Histogram, Window, match_probability, timing_join
from coincide.errors import WindowError
from coincide.papers.interval_timing.correlation import eager
from coincide.papers.interval_timing.lazy_correlation import lazy, lazy_lookup
from coincide.papers.recording import Recording
from tests.reference.printed_interval import (
    PrintedLookUp,
    eager_by_current_time,
    lazy_stream_by_stream,
    regions_for_any_window,
)
from tests.reference.recorded_streams import positions, two_streams

SECOND_US = 1_000_000
CLOCK = Histogram.uniform(-1, 0)


def at(*seconds: float) -> list[int]:
    return [round(second * SECOND_US) for second in seconds]


def test_algorithm_2_by_the_clock_on_the_wall_forgets_what_a_replay_still_needs() -> None:
    recording = two_streams(Detections(at(10, 10.5), [CLOCK]), Detections(at(9), [CLOCK]), order=[2, 0, 1])
    an_hour_later = 3600 * SECOND_US
    printed = eager_by_current_time(recording, Window(5), 0.5, lambda new: new.now_us + an_hour_later)
    assert positions(printed.members) == {(0, 0)}, "the second event of a finds b's dropped"
    assert positions(eager(recording, Window(5), 0.5).members) == {(0, 0), (1, 0)}


def test_lazy_stream_by_stream_finds_events_that_wait_together_twice() -> None:
    recording = two_streams(Detections(at(10, 11), [CLOCK]), Detections(at(10, 11), [CLOCK]), order=[0, 2, 3, 1])
    printed = lazy_stream_by_stream(recording, Window(5), 0.5, enough=2)
    assert printed.members.tolist() == [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 1]]
    assert positions(lazy(recording, Window(5), 0.5, block=4).members) == {(0, 0), (0, 1), (1, 0), (1, 1)}


def out_of_order() -> Recording:
    """First comes the base event with the later max, 20 s, at 4 to 20 s; then the one at 10.5 to 11.5 s.

    The partner, at -11.5 to -5.5 s, lies in the left region of both. Its mean plus 20 s is 11.5 s: after the mean of
    the second, 11 s, so it matches at threshold 0.5, but before that of the first, 12 s, so it does not match.
    """
    a = Detections(at(20, 11.5), [Histogram.uniform(-16, 0), CLOCK], [0, 1])
    b = Detections(at(-5.5), [Histogram.uniform(-6, 0), Histogram.uniform(-10, 0), Histogram.point()], [0])
    return two_streams(a, b, order=[0, 1, 2])


def test_algorithm_6_needs_the_block_in_order_of_max_too() -> None:
    printed = PrintedLookUp(out_of_order(), Window(20), 0.5, stores_each_evaluation=True)
    assert positions(printed.run().members) == {(0, 0), (1, 0)}, "a wrong pair"
    assert positions(replace(printed, sorts_the_block=True).run().members) == {(1, 0)}
    assert positions(lazy_lookup(out_of_order(), Window(20), 0.5).members) == {(1, 0)}


def test_algorithm_6_line_19_needs_the_indices_of_the_right_region() -> None:
    clocks = [CLOCK, Histogram.uniform(-4, 0)]
    recording = two_streams(Detections(at(100), [CLOCK]), Detections(at(90.5, 100, 111), clocks, [0, 0, 1]))
    printed = PrintedLookUp(recording, Window(10), 0.5, sorts_the_block=True, stores_each_evaluation=True)
    with pytest.raises(IndexError, match="not in the look-up table"):
        printed.run()
    expected = positions(replace(printed, has_own_indices_on_the_right=True).run().members)
    assert expected == {(0, 0), (0, 1), (0, 2)}
    assert positions(lazy_lookup(recording, Window(10), 0.5).members) == expected


def test_algorithm_7_line_10_forgets_what_it_evaluates() -> None:
    # The partner misses the latest base event by a little and matches both earlier ones: what is evaluated for the
    # second answers for the first.
    clocks = [CLOCK, Histogram.uniform(-4, 0), Histogram.point()]
    recording = two_streams(Detections(at(101, 101.1, 101.9), clocks[:1]), Detections(at(91.5), clocks, [0]))
    printed = PrintedLookUp(recording, Window(10), 0.5, sorts_the_block=True, has_own_indices_on_the_right=True)
    forgets, stores = printed.run(), replace(printed, stores_each_evaluation=True).run()
    assert (forgets.work.probabilities, forgets.work.lookups) == (3, 0)
    assert (stores.work.probabilities, stores.work.lookups) == (2, 1)
    ours = lazy_lookup(recording, Window(10), 0.5)
    assert (ours.work.probabilities, ours.work.lookups) == (2, 1)
    assert positions(ours.members) == positions(forgets.members) == {(0, 0), (1, 0)}


def test_in_a_window_shorter_than_the_templates_the_papers_certain_region_holds_pairs_that_do_not_match() -> None:
    long_clock = Histogram.uniform(-10, 0)
    frame, window, threshold = Detections(at(100), [long_clock]), Window(3), 0.55
    recording = two_streams(frame, frame)
    printed = regions_for_any_window(10.0, 10.0, 10.0, window, threshold)
    assert printed.ll_us <= 0 <= printed.rl_us, "certain to match, by the paper's rule"
    assert match_probability(long_clock, long_clock, 0.0, window) == pytest.approx(0.51)  # 1 - (7 / 10) ** 2
    assert len(timing_join(frame, frame, window, threshold, sensors="any")) == 0
    assert len(eager(recording, window, threshold).members) == 0, "there ours probes"
    with pytest.raises(WindowError, match="at least as long as the longest templates"):
        lazy_lookup(recording, window, threshold)


def test_in_a_window_shorter_than_the_templates_an_earlier_event_may_match_less() -> None:
    # Corollary 2's use for |.| <= d: the partner matches the later of two events of one template, not the earlier.
    partner, base, window = Histogram.point(), Histogram.uniform(-10, 0), Window(3)
    later, earlier = match_probability(partner, base, 3.0, window), match_probability(partner, base, 0.0, window)
    assert later == pytest.approx(0.6)
    assert earlier == pytest.approx(0.3)
