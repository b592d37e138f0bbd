"""Replay of two recorded streams as the timing papers' algorithms see them, and the answer with the work they count."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from coincide.arrays.exact_sums import seconds_of
from coincide.arrays.kinds import FloatArray
from coincide.constraints.window import Window, checked_threshold
from coincide.joins.answers import Pairs
from coincide.offsets.long_windows import least_probability
from coincide.papers.timing_events import Arrivals, Event
from coincide.probability.difference import match_probabilities, window_probability
from coincide.probability.trapezoids import Trapezoids
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplateColumns


@dataclass(frozen=True)
class Work:
    """Elementary work in counts.

    Attributes
    ----------
    scanned : int
        Events of the other stream looked at.
    probabilities : int
        Probabilities evaluated.
    lookups : int
        Answers taken from a look-up or satisfaction table instead.
    buffered : int
        Largest number of events held at once, both streams together.

    Examples
    --------
    Counts add up, of what was held the larger stays:

    >>> Work(scanned=3, buffered=7) + Work(scanned=2, probabilities=1, buffered=5)
    Work(scanned=5, probabilities=1, lookups=0, buffered=7)
    """

    scanned: int = 0
    probabilities: int = 0
    lookups: int = 0
    buffered: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.scanned + other.scanned,
            self.probabilities + other.probabilities,
            self.lookups + other.lookups,
            max(self.buffered, other.buffered),
        )


@dataclass(frozen=True)
class Measured:
    """An answer and what it took."""

    pairs: Pairs
    work: Work


NANOSECOND = Fraction(1, 10**9)


class Algorithm(Protocol):
    """What all algorithms of the papers look like: the same inputs, the same pairs."""

    def __call__(self, arrivals: Arrivals, window: Window, threshold: float) -> Measured:
        """Join the two streams; sensors are not asked (the rule "any" of `timing_join`)."""


class Answer:
    """Pairs found so far, and counts of the work done for them.

    Parameters
    ----------
    arrivals : Arrivals
    window : Window
        Of Xb - Xa.
    threshold : float
        In (0, 1].

    Attributes
    ----------
    scanned, probabilities, lookups, buffered : int
        As in `Work`; `scanned` and `lookups` are for the algorithm to count.
    """

    def __init__(self, arrivals: Arrivals, window: Window, threshold: float) -> None:
        self.arrivals, self.window, self.threshold = arrivals, window, checked_threshold(threshold)
        self.scanned = self.probabilities = self.lookups = self.buffered = 0
        self._found: list[tuple[int, int]] = []

    def add(self, new: Event, other: Event) -> None:
        """Add (new, other) to the result, the event of a on the left."""
        self._found.append((new.row, other.row) if new.side == "a" else (other.row, new.row))

    def is_match(self, new: Event, other: Event) -> bool:
        """Evaluate the satisfaction probability of two events; say whether it reaches the threshold."""
        self.probabilities += 1
        a, b = (new, other) if new.side == "a" else (other, new)
        u, v = self.arrivals.a.templates[a.template], self.arrivals.b.templates[b.template]
        return qualifies(u, v, b.detected_at_us - a.detected_at_us, self.window, self.threshold)

    def probe(self, new: Event, other: Event) -> bool:
        """Algorithm 3: add the pair if its probability reaches the threshold."""
        matches = self.is_match(new, other)
        if matches:
            self.add(new, other)
        return matches

    def hold(self, *buffers: Sized) -> None:
        """Take note of how many events are held now."""
        self.buffered = max(self.buffered, sum(map(len, buffers)))

    def measured(self) -> Measured:
        """Return the pairs, by left, then right, and the counts."""
        work = Work(self.scanned, self.probabilities, self.lookups, self.buffered)
        return Measured(_pairs(self.arrivals, sorted(self._found), self.window), work)


def qualifies(u: Histogram, v: Histogram, offset_us: int, window: Window, threshold: float) -> bool:
    """Whether P(lo <= Xb - Xa <= hi) >= threshold for two events reported `offset_us` apart.

    The tolerance is that of `satisfaction_offsets`: a probability below the threshold by rounding alone qualifies,
    and threshold 1 asks for the supports, because 1 - P vanishes in rounding before they are inside the window.

    Examples
    --------
    >>> u = Histogram.uniform(0, 100)
    >>> [qualifies(u, u, 100_000_000 + past_us, Window(200), 1.0) for past_us in (0, 1)]
    [True, False]
    """
    probability = window_probability(_difference(u, v), seconds_of(np.array([offset_us])), window)
    if probability[0] < least_probability(threshold):
        return False
    return threshold < 1.0 or is_inside(u, v, offset_us, window)


@lru_cache(maxsize=4096)
def _difference(u: Histogram, v: Histogram) -> Trapezoids:
    """Return the distribution of Xb - Xa that `match_probability` forms anew each time: half of its cost."""
    return Trapezoids.of(TemplateColumns.of([u], len(u.mass)), TemplateColumns.of([v], len(v.mass)))


def is_inside(u: Histogram, v: Histogram, offset_us: int, window: Window) -> bool:
    """Whether every possible Xb - Xa is in the window, give or take a nanosecond (0.1 + 0.2 is within 0.3)."""
    offset = Fraction(offset_us, 10**6)
    least = offset + Fraction(v.earliest_s) - Fraction(u.latest_s)
    greatest = offset + Fraction(v.latest_s) - Fraction(u.earliest_s)
    return least >= Fraction(window.lo_s) - NANOSECOND and greatest <= Fraction(window.hi_s) + NANOSECOND


def _pairs(arrivals: Arrivals, found: list[tuple[int, int]], window: Window) -> Pairs:
    a, b = arrivals.a, arrivals.b
    left, right = np.array(found, dtype=np.int64).reshape(-1, 2).T

    def probabilities() -> FloatArray:
        offset_us = b.detected_at_us[right] - a.detected_at_us[left]
        u_index, v_index = a.template_index[left], b.template_index[right]
        return match_probabilities(a.templates, b.templates, u_index, v_index, offset_us, window)

    return Pairs(left, right, probabilities)
