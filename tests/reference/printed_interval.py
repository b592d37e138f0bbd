"""The interval paper's algorithms as they are printed, slips included, for tests that show each slip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from coincide import Window
from coincide.papers.counted_answer import PaperResult, TimingAnswer
from coincide.papers.interval_timing.correlation import correlate
from coincide.papers.interval_timing.regions import Regions, difference_quantile, region_tables
from coincide.papers.recording import Event, Recording
from coincide.papers.sorted_buffers import SortedBuffer


def eager_by_current_time(
    recording: Recording, window: Window, threshold: float, current_time_us: Callable[[Event], int]
) -> PaperResult:
    """Algorithm 2: line 8 invalidates by the clock on the wall."""
    answer = TimingAnswer(recording, window, threshold)
    tables = region_tables(answer)
    return answer.replayed(
        lambda new, partners: correlate(answer, tables[new.stream].of(new), new, partners),
        lambda new: tables[new.stream].obsolete_before_us(current_time_us(new)),
    )


def lazy_stream_by_stream(recording: Recording, window: Window, threshold: float, enough: int) -> PaperResult:
    """Algorithms 4 and 5: a stream's unprocessed block meets all that the other stream holds."""
    answer = TimingAnswer(recording, window, threshold)
    tables = region_tables(answer)
    buffers: dict[str, list[Event]] = {"a": [], "b": []}
    unprocessed: dict[str, list[Event]] = {"a": [], "b": []}
    for new in recording:
        buffers[new.stream].append(new)
        unprocessed[new.stream].append(new)
        if len(unprocessed[new.stream]) < enough:
            continue
        target = SortedBuffer(buffers[answer.other[new.stream]])
        for waiting in reversed(unprocessed[new.stream]):
            correlate(answer, tables[new.stream].of(waiting), waiting, target)
        unprocessed[new.stream] = []
    return answer.result()


@dataclass
class PrintedLookUp:
    """Algorithms 6 and 7 for one block of stream a and all of stream b.

    With all three corrections it is what the text asks for.
    """

    recording: Recording
    window: Window
    threshold: float
    sorts_the_block: bool = False
    has_own_indices_on_the_right: bool = False
    stores_each_evaluation: bool = False
    answer: TimingAnswer = field(init=False)

    def run(self) -> PaperResult:
        self.answer = TimingAnswer(self.recording, self.window, self.threshold)
        table = region_tables(self.answer)["a"]
        block = [event for event in self.recording if event.stream == "a"]
        if self.sorts_the_block:
            block.sort(key=lambda event: event.latest_us)
        target = SortedBuffer(event for event in self.recording if event.stream == "b")
        for new in block:
            regions = table.of(new)
            for other in target.between(regions.ll_us, regions.rl_us):
                self.answer.add(new, other)
        least, greatest = table.widest(block[0].latest_us), table.narrowest(block[-1].latest_us)
        left_index, right_index = target.first_from(least.lh_us), target.first_from(greatest.ll_us)
        look_up = _Array(left_index, right_index)
        for new in reversed(block):
            for index in range(target.first_from(table.of(new).lh_us), target.first_from(table.of(new).ll_us)):
                known = look_up[index]
                usable = known is None or new.earliest_us <= known[0].earliest_us
                self._efficient_probe(new, target[index], look_up, index, usable)
        if self.has_own_indices_on_the_right:
            left_index, right_index = target.first_from(least.rl_us), target.first_from(greatest.rh_us + 1)
        look_up = _Array(left_index, right_index)
        for new in block:
            for index in range(target.first_from(table.of(new).rl_us + 1), target.first_from(table.of(new).rh_us + 1)):
                known = look_up[index]
                usable = known is None or new.earliest_us >= known[0].earliest_us
                self._efficient_probe(new, target[index], look_up, index, usable)
        return self.answer.result()

    def _efficient_probe(self, new: Event, other: Event, look_up: _Array, index: int, usable: bool) -> None:
        """Algorithm 7."""
        known = look_up[index]
        if usable and known is not None:
            if known[1]:
                self.answer.work.lookups += 1
                self.answer.add(new, other)
            else:
                matches = self.answer.probe(new, other)  # line 10
                if self.stores_each_evaluation:
                    look_up[index] = (new, matches)
        else:
            look_up[index] = (new, self.answer.probe(new, other))


class _Array:
    """The look-up table: entries for the indices from `first` up to `before`, and no others."""

    def __init__(self, first: int, before: int) -> None:
        self._first = first
        self._entries: list[tuple[Event, bool] | None] = [None] * (before - first)

    def __getitem__(self, index: int) -> tuple[Event, bool] | None:
        return self._entries[self._at(index)]

    def __setitem__(self, index: int, entry: tuple[Event, bool]) -> None:
        self._entries[self._at(index)] = entry

    def _at(self, index: int) -> int:
        if not 0 <= index - self._first < len(self._entries):
            raise IndexError(f"index {index} is not in the look-up table")
        return index - self._first


def regions_for_any_window(base_s: float, rho_s: float, pi_s: float, window: Window, threshold: float) -> Regions:
    """LH, LL, RL and RH of the interval (-base, 0), whatever the window, as if the paper did not assume d >= pi."""

    def q(length_s: float) -> float:
        return difference_quantile(threshold, base_s, length_s)

    left_s, right_s = window.lo_s - base_s, window.hi_s
    bounds_s = (left_s + q(rho_s), left_s + q(pi_s), right_s + rho_s - q(rho_s), right_s + pi_s - q(pi_s))
    return Regions(*(round(bound_s * 1e6) for bound_s in bounds_s))
