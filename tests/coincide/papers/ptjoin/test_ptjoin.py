"""What the PTJoin paper claims of its join, in counts; that the pairs are right, all algorithms' test says."""

import numpy as np
import pytest

from coincide import Detections, Histogram, Window, timing_join
from coincide.papers.counted_answer import Work
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, ge
from coincide.papers.ptjoin.histogram_joins import eager, ptjoin, simple
from coincide.papers.recording import Recording
from tests.reference.recorded_streams import random_templates, two_streams

WINDOW = Window(3.0)
THRESHOLDS = (0.05, 0.5, 0.8, 0.95)
EVENTS = 120


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Two streams of 2 events a second, 8 templates each, that arrive up to a second late."""
    random = np.random.default_rng(11)

    def stream(seed: int) -> Detections:
        times_us = np.sort(random.integers(0, 60_000_000, EVENTS))
        return Detections(times_us, random_templates(8, longest_ms=2000, seed=seed), random.integers(0, 8, EVENTS))

    a, b = stream(12), stream(13)
    reported_us = np.concatenate((a.detected_at_us, b.detected_at_us))
    return two_streams(a, b, np.argsort(reported_us + random.integers(0, 1_000_000, 2 * EVENTS)))


def test_simple_evaluates_every_event_of_the_other_stream(recording: Recording) -> None:
    work = simple(recording, WINDOW, 0.8).work
    assert work == Work(scanned=EVENTS * EVENTS, probabilities=EVENTS * EVENTS, buffered=2 * EVENTS)


def test_ptjoin_looks_at_less_than_eager_at_any_threshold_and_evaluates_nothing(recording: Recording) -> None:
    looser = eager(recording, WINDOW, THRESHOLDS[0]).work
    assert all(eager(recording, WINDOW, threshold).work == looser for threshold in THRESHOLDS[1:])
    assert looser.scanned < 0.2 * EVENTS * EVENTS
    assert looser.buffered < 0.3 * 2 * EVENTS
    for threshold in THRESHOLDS:
        result = ptjoin(recording, WINDOW, threshold)
        assert result.work.probabilities == 0
        assert result.work.lookups < 0.6 * looser.probabilities
        assert len(result.members) <= result.work.scanned < looser.scanned
        assert result.work.buffered <= looser.buffered


def test_events_that_come_later_than_usual_are_waited_for(recording: Recording) -> None:
    last_first = Recording(recording.streams, range(2 * EVENTS)[::-1])
    expected = timing_join(recording.streams["a"], recording.streams["b"], WINDOW, 0.8, sensors="any")
    for algorithm in (simple, eager, ptjoin):
        assert algorithm(last_first, WINDOW, 0.8).members[:, 0].tolist() == expected.left.tolist()


def test_threshold_1_asks_for_the_supports() -> None:
    # X_b - X_a from 0 to 200 s: inside; one microsecond later 5e-17 of it is not, which no float of P shows
    spread = [Histogram.uniform(0, 100)]
    a, b = Detections([0], spread), Detections([100_000_000, 100_000_001], spread)
    for algorithm in (simple, eager, ptjoin):
        assert algorithm(two_streams(a, b), Window(200.0), 1.0).members.tolist() == [[0, 0]]


def test_one_template_a_side_leaves_nothing_to_look_up() -> None:
    clock, ear = random_templates(2, longest_ms=2000, seed=14)
    times_us = np.arange(40) * 500_000
    result = ptjoin(two_streams(Detections(times_us, [clock]), Detections(times_us, [ear])), WINDOW, 0.8)
    assert result.work.lookups == 0
    assert result.work.scanned == len(result.members) > 100


def test_in_a_short_window_lemma_2_finds_pairs_that_do_not_match() -> None:
    # |X_a - X_b| <= 1 for two uniform over the same 10 s: 0.19; Lemma 2 asks for X_a + 1 >= X_b alone: 0.595
    spread, window = Histogram.uniform(0, 10), Window(1.0)
    one = Detections([0], [spread])
    recording = two_streams(one, one)
    h = HistogramTimestamp.of_template(spread, 1)
    assert ge(h + 1.0, h) == pytest.approx(0.595)
    assert len(timing_join(one, one, window, 0.5)) == len(simple(recording, window, 0.5).members) == 0
    assert len(simple(recording, window, 0.19).members) == 1
