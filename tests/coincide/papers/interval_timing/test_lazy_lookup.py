from __future__ import annotations

from dataclasses import replace

import pytest

from coincide import Detections, Histogram, Window, timing_join
from coincide.papers.interval_timing.lazy_correlation import is_no_later, lazy_lookup
from coincide.papers.recording import Event
from tests.reference.recorded_streams import long_recording, positions, two_streams


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
