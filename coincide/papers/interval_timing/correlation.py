"""Simple, Simple-Sort and Eager timing correlation of interval timestamps."""

from __future__ import annotations

import math

from coincide.constraints.window import Window
from coincide.joins.retention import ROUNDING_US
from coincide.papers.counted_answer import PaperResult, TimingAnswer
from coincide.papers.interval_timing.regions import Regions, region_tables
from coincide.papers.recording import Event, Recording
from coincide.papers.sorted_buffers import SortedBuffer


def simple(recording: Recording, window: Window, threshold: float) -> PaperResult:
    """Algorithm 1 of the interval paper, for any templates and any window.

    The text does not say when an event is obsolete. Here it is when no event still to come can reach it with any
    probability at all. That needs no regions and holds for every histogram.
    """
    answer = TimingAnswer(recording, window, threshold)
    buffers: dict[str, list[Event]] = {stream: [] for stream in answer.streams}
    for new in recording:
        partners = answer.other[new.stream]
        horizon_us = _obsolete_before_us(answer, new)
        kept = []
        for other in buffers[partners]:
            answer.work.scanned += 1
            answer.probe(new, other)
            if other.latest_us >= horizon_us:
                kept.append(other)
        buffers[partners] = kept
        buffers[new.stream].append(new)
        answer.count_buffered(*buffers.values())
    return answer.result()


def _obsolete_before_us(answer: TimingAnswer, new: Event) -> int:
    """Partners whose max is below this match no event of the stream of `new` that is still to come."""
    base = answer.recording.parameters[new.stream]
    earliest_s = answer.windows[new.stream].lo_s - base.longest_s
    return new.now_us - base.max_delay_us + math.floor(earliest_s * 1e6) - ROUNDING_US


def simple_sort(recording: Recording, window: Window, threshold: float) -> PaperResult:
    """Algorithm 1 with buffers in the order of the events' max: it probes the same; what is obsolete goes at once."""
    answer = TimingAnswer(recording, window, threshold)

    def probe_all(new: Event, partners: SortedBuffer) -> None:
        for other in partners:
            answer.work.scanned += 1
            answer.probe(new, other)

    return answer.replayed(probe_all, lambda new: _obsolete_before_us(answer, new))


def eager(recording: Recording, window: Window, threshold: float) -> PaperResult:
    """Algorithms 2 and 3 of the interval paper, for uniform templates.

    Line 8 takes the current time. Here it is the greatest max that has arrived (see `RegionTable.obsolete_before_us`).
    The paper assumes a window at least as long as the templates. In a shorter one no region of certain matches is left,
    so `eager` probes all of [LH, RH], and the answer is right there too.
    """
    answer = TimingAnswer(recording, window, threshold)
    tables = region_tables(answer)
    return answer.replayed(
        lambda new, partners: correlate(answer, tables[new.stream].of(new), new, partners),
        lambda new: tables[new.stream].obsolete_before_us(new.now_us),
    )


def correlate(answer: TimingAnswer, regions: Regions, new: Event, partners: SortedBuffer) -> None:
    """Lines 2 to 7: add what is in [LL, RL], probe what is in [LH, LL) or (RL, RH]."""
    for other in partners.between(regions.lh_us, regions.rh_us):
        answer.work.scanned += 1
        if regions.ll_us <= other.latest_us <= regions.rl_us:
            answer.add(new, other)
        else:
            answer.probe(new, other)
