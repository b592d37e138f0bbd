"""Where the interval paper's printed algorithms are wrong or silent, slips included, and what ours do there."""

from dataclasses import dataclass, replace

import pytest

from coincide import Detections, Histogram, Window, match_probability, timing_join
from coincide.errors import WindowError
from coincide.papers.counted_answer import PaperResult, TimingAnswer
from coincide.papers.interval_timing.correlation import correlate, eager
from coincide.papers.interval_timing.lazy_correlation import lazy, lazy_lookup
from coincide.papers.interval_timing.regions import difference_quantile, region_tables
from coincide.papers.recording import Event, Recording
from coincide.papers.sorted_buffers import SortedBuffer
from tests.reference.recorded_streams import positions, two_streams

CLOCK = Histogram.uniform(-1, 0)


def at(*seconds: float) -> list[int]:
    return [round(second * 1_000_000) for second in seconds]


def test_algorithm_2_by_the_clock_on_the_wall_forgets_what_a_replay_still_needs() -> None:
    recording = two_streams(Detections(at(10, 10.5), [CLOCK]), Detections(at(9), [CLOCK]), order=[2, 0, 1])
    answer, an_hour_us = TimingAnswer(recording, Window(5), 0.5), 3_600_000_000
    tables = region_tables(answer)
    printed = answer.replayed(
        lambda new, partners: correlate(answer, tables[new.stream].of(new), new, partners),
        lambda new: tables[new.stream].obsolete_before_us(new.now_us + an_hour_us),  # line 8
    )
    assert positions(printed.members) == {(0, 0)}, "the second event of a finds b's dropped"
    assert positions(eager(recording, Window(5), 0.5).members) == {(0, 0), (1, 0)}


def lazy_stream_by_stream(recording: Recording, window: Window, threshold: float, enough: int) -> PaperResult:
    """Algorithms 4 and 5: a stream's unprocessed block meets all that the other stream holds."""
    answer = TimingAnswer(recording, window, threshold)
    tables = region_tables(answer)
    buffers: dict[str, list[Event]] = {"a": [], "b": []}
    unprocessed: dict[str, list[Event]] = {"a": [], "b": []}
    for new in recording:
        buffers[new.stream].append(new)
        unprocessed[new.stream].append(new)
        if len(unprocessed[new.stream]) == enough:
            target = SortedBuffer(buffers[answer.other[new.stream]])
            for waiting in reversed(unprocessed[new.stream]):
                correlate(answer, tables[new.stream].of(waiting), waiting, target)
            unprocessed[new.stream] = []
    return answer.result()


def test_lazy_stream_by_stream_finds_events_that_wait_together_twice() -> None:
    recording = two_streams(Detections(at(10, 11), [CLOCK]), Detections(at(10, 11), [CLOCK]), order=[0, 2, 3, 1])
    printed = lazy_stream_by_stream(recording, Window(5), 0.5, enough=2)
    assert printed.members.tolist() == [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 1]]
    assert positions(lazy(recording, Window(5), 0.5, block=4).members) == {(0, 0), (0, 1), (1, 0), (1, 1)}


@dataclass
class PrintedLookUp:
    """Algorithms 6 and 7 for one block of stream a and all of stream b; with three corrections as the text asks."""

    recording: Recording
    window: Window
    threshold: float
    sorts_the_block: bool = False
    has_own_indices_on_the_right: bool = False
    stores_each_evaluation: bool = False

    def run(self) -> PaperResult:
        self.answer = TimingAnswer(self.recording, self.window, self.threshold)
        table = region_tables(self.answer)["a"]
        block = [event for event in self.recording if event.stream == "a"]
        if self.sorts_the_block:
            block.sort(key=lambda event: event.latest_us)
        target = SortedBuffer(event for event in self.recording if event.stream == "b")
        for new in block:
            for other in target.between(table.of(new).ll_us, table.of(new).rl_us):
                self.answer.add(new, other)
        least, greatest = table.widest(block[0].latest_us), table.narrowest(block[-1].latest_us)
        indices = range(target.first_from(least.lh_us), target.first_from(greatest.ll_us))
        look_up: dict[int, tuple[Event, bool] | None] = dict.fromkeys(indices)
        for new in reversed(block):
            for index in range(target.first_from(table.of(new).lh_us), target.first_from(table.of(new).ll_us)):
                known = look_up[index]
                usable = known is None or new.earliest_us <= known[0].earliest_us
                look_up[index] = self._efficient_probe(new, target[index], known, usable)
        if self.has_own_indices_on_the_right:
            indices = range(target.first_from(least.rl_us), target.first_from(greatest.rh_us + 1))
        look_up = dict.fromkeys(indices)
        for new in block:
            for index in range(target.first_from(table.of(new).rl_us + 1), target.first_from(table.of(new).rh_us + 1)):
                known = look_up[index]
                usable = known is None or new.earliest_us >= known[0].earliest_us
                look_up[index] = self._efficient_probe(new, target[index], known, usable)
        return self.answer.result()

    def _efficient_probe(
        self, new: Event, other: Event, known: tuple[Event, bool] | None, usable: bool
    ) -> tuple[Event, bool]:
        """Algorithm 7: the entry that the look-up table has for `other` afterwards."""
        if not usable or known is None:
            return new, self.answer.probe(new, other)
        if known[1]:
            self.answer.work.lookups += 1
            self.answer.add(new, other)
            return known
        matches = self.answer.probe(new, other)  # line 10
        return (new, matches) if self.stores_each_evaluation else known


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
    with pytest.raises(KeyError, match=r"^2$"):  # the last of b is not in the look-up table
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
    quantile_s = difference_quantile(threshold, 10.0, 10.0)
    ll_s, rl_s = window.lo_s - 10 + quantile_s, window.hi_s + 10 - quantile_s  # as if the paper did not assume d >= pi
    assert ll_s <= 0 <= rl_s, "certain to match, by the paper's rule"
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
