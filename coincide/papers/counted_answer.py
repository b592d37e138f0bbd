"""What an algorithm finds, and the elementary work that it counts on the way."""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from coincide.arrays.exact_sums import seconds_of
from coincide.arrays.kinds import Int64Array
from coincide.constraints.window import Window, checked_threshold
from coincide.errors import DetectionsError
from coincide.offsets.long_windows import least_probability
from coincide.papers.recording import Event, Recording
from coincide.papers.sorted_buffers import SortedBuffer
from coincide.probability.difference import window_probability
from coincide.probability.trapezoids import Trapezoids
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplateColumns


@dataclass
class Work:
    """Elementary work in counts, and how long events waited in the time of the recording."""

    scanned: int = 0  # events of other streams that the algorithm looked at
    probabilities: int = 0  # evaluated
    lookups: int = 0  # answers taken from a look-up or satisfaction table instead
    windows_tested: int = 0  # exact times compared with a period or a window
    predicates: int = 0  # keys compared, and calls of the predicate
    buffered: int = 0  # largest number of events held at once, all streams together
    waited_us: int = 0  # from the arrival of an event until it was joined or dropped; all events together
    longest_wait_us: int = 0

    @property
    def operations(self) -> int:
        """All of a window join that takes time: events scanned, windows tested, predicates evaluated."""
        return self.scanned + self.windows_tested + self.predicates


@dataclass(frozen=True, eq=False)
class PaperResult:
    """An answer, and the work that it took."""

    members: Int64Array  # (n, k): the rows of each result, a column for each stream; sorted by columns
    work: Work


class PaperAnswer:
    """Results so far, with a column for each of `streams`, and counts of the work done for them."""

    def __init__(self, recording: Recording, streams: tuple[str, ...]) -> None:
        self.recording, self.streams, self.work = recording, streams, Work()
        self._members: list[tuple[int, ...]] = []

    def add(self, *members: Event) -> None:
        """Add one event of each stream to the result."""
        rows = {member.stream: member.row for member in members}
        self._members.append(tuple(rows[stream] for stream in self.streams))

    def count_buffered(self, *buffers: Sized) -> None:
        """Take note of how many events are held now."""
        self.work.buffered = max(self.work.buffered, sum(map(len, buffers)))

    def count_wait(self, event: Event, now_us: int) -> None:
        """Take note of how long an event waited."""
        self.work.waited_us += now_us - event.now_us
        self.work.longest_wait_us = max(self.work.longest_wait_us, now_us - event.now_us)

    def result(self) -> PaperResult:
        """Return the results, sorted, and the counts."""
        members = np.array(sorted(self._members), dtype=np.int64).reshape(-1, len(self.streams))
        return PaperResult(members, replace(self.work))


class TimingAnswer(PaperAnswer):
    """Pairs of the two streams of `recording`, a and b, whose Xb - Xa lies in `window` with probability `threshold`."""

    def __init__(self, recording: Recording, window: Window, threshold: float) -> None:
        streams = tuple(recording.streams)
        if len(streams) != 2:
            raise DetectionsError("streams", streams, "two streams")
        super().__init__(recording, streams)
        self.threshold = checked_threshold(threshold)
        self.windows = dict(zip(streams, (window, window.swapped()), strict=True))
        self.other = dict(zip(streams, streams[::-1], strict=True))  # where each stream's partners are

    def is_match(self, new: Event, other: Event) -> bool:
        """Evaluate the satisfaction probability of two events; say whether it reaches the threshold."""
        self.work.probabilities += 1
        a, b = (new, other) if new.stream == self.streams[0] else (other, new)
        u, v = (self.recording.streams[event.stream].templates[event.template] for event in (a, b))
        return qualifies(u, v, b.detected_at_us - a.detected_at_us, self.windows[a.stream], self.threshold)

    def probe(self, new: Event, other: Event) -> bool:
        """Algorithm 3 of the interval paper: add the pair if its probability reaches the threshold."""
        matches = self.is_match(new, other)
        if matches:
            self.add(new, other)
        return matches

    def replayed(
        self, join: Callable[[Event, SortedBuffer], None], obsolete_before_us: Callable[[Event], int]
    ) -> PaperResult:
        """Join each event with the buffer of the other stream, drop what is obsolete there, and buffer the event."""
        buffers = {stream: SortedBuffer() for stream in self.streams}
        for new in self.recording:
            partners = buffers[self.other[new.stream]]
            join(new, partners)
            partners.drop_before(obsolete_before_us(new))
            buffers[new.stream].insert(new)
            self.count_buffered(*buffers.values())
        return self.result()


def qualifies(u: Histogram, v: Histogram, offset_us: int, window: Window, threshold: float) -> bool:
    """Whether P(lo <= Xb - Xa <= hi) >= threshold for two events reported `offset_us` apart.

    The tolerance is that of `satisfaction_offsets`. A probability below the threshold by rounding alone qualifies.
    Threshold 1 asks for the supports, because 1 - P vanishes in rounding before they are inside the window.
    """
    probability = window_probability(_difference(u, v), seconds_of(np.array([offset_us])), window)
    if probability[0] < least_probability(threshold):
        return False
    return threshold < 1.0 or is_inside(u, v, offset_us, window)


@lru_cache(maxsize=4096)
def _difference(u: Histogram, v: Histogram) -> Trapezoids:
    """Return the distribution of Xb - Xa; forming it anew for each pair would be half of the cost."""
    return Trapezoids.of(TemplateColumns.of([u], len(u.mass)), TemplateColumns.of([v], len(v.mass)))


NANOSECOND = Fraction(1, 10**9)


def is_inside(u: Histogram, v: Histogram, offset_us: int, window: Window) -> bool:
    """Whether every possible Xb - Xa is in the window, give or take a nanosecond (0.1 + 0.2 is within 0.3)."""
    offset = Fraction(offset_us, 10**6)
    least = offset + Fraction(v.earliest_s) - Fraction(u.latest_s)
    greatest = offset + Fraction(v.latest_s) - Fraction(u.earliest_s)
    return least >= Fraction(window.lo_s) - NANOSECOND and greatest <= Fraction(window.hi_s) + NANOSECOND
