"""Regions: which partners of an interval timestamp match for certain, which never, and which must be probed.

An event arrives with the interval [min1, max1], l1 = max1 - min1 long. Partners are told apart by x, the max of
their interval alone; they are between rho (the shortest) and pi (the longest) long. For fixed x a longer partner
lies earlier, so on the left, where X2 >= X1 + lo may fail, the shortest is the likeliest to match and the longest
the least likely; on the right, where X2 <= X1 + hi may fail, it is the other way round. With q(l), the quantile at
the threshold of the difference of two uniform times l1 and l long, counted from its least value:

    LH = min1 + lo + q(rho)             below it none matches: the best bound, that of the shortest
    LL = min1 + lo + q(pi)              from here on all hold on the left: even the longest does
    RL = max1 + hi + rho - q(rho)       up to here all hold on the right: even the shortest does
    RH = max1 + hi + pi - q(pi)         above it none matches

The text at hand lacks the figure that shows these four; they follow from its rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coincide.constraints.window import Window
from coincide.errors import HistogramError, WindowError
from coincide.joins.retention import ROUNDING_US
from coincide.offsets.long_windows import least_probability
from coincide.papers.counted_answer import TimingAnswer
from coincide.papers.recording import Event, Recording, StreamParameters


@dataclass(frozen=True)
class Regions:
    """Bounds on a partner's `latest_us`: [lh, rh] may match, [ll, rl] matches for certain (if ll <= rl).

    Certain bounds are rounded inwards, the others outwards, so that probing decides what rounding might. In a window
    exactly as long as both templates, threshold 1 leaves one microsecond for LL and RL, and rounding moves LL beyond
    RL. What lies between them then belongs to neither side: either end of the window may fail there.
    """

    lh_us: int
    ll_us: int
    rl_us: int
    rh_us: int

    @property
    def left_us(self) -> tuple[int, int]:
        """The left probe region, [first, before): the window's right end holds there for certain."""
        return self.lh_us, min(self.ll_us, self.rl_us + 1)

    @property
    def between_us(self) -> tuple[int, int]:
        """What rounding leaves between the two sides, closed at both ends; empty where LL <= RL."""
        return self.rl_us + 1, self.ll_us - 1

    @property
    def right_us(self) -> tuple[int, int]:
        """The right probe region, [first, before): the window's left end holds there for certain."""
        return max(self.ll_us, self.rl_us + 1), self.rh_us + 1

    def at(self, time_us: int) -> Regions:
        """Return the same regions, `time_us` later."""
        return Regions(self.lh_us + time_us, self.ll_us + time_us, self.rl_us + time_us, self.rh_us + time_us)


class RegionTable:
    """Regions of each event of the stream `base`, and what its future events still need of the other, `partners`.

    Everything is relative to the reported time, so it is computed once for each template. A window shorter than the
    templates of both streams leaves no region of certain matches: the papers' proof needs one end of the window to hold
    for certain wherever the other may fail.
    """

    def __init__(self, base: StreamParameters, partners: StreamParameters, window: Window, threshold: float) -> None:
        for template in (*base.templates, *partners.templates):
            if len(template.mass) > 1:
                raise HistogramError("templates", template, "one bucket: interval timestamps are uniform")
        self._base, self._partners, self._window, self._threshold = base, partners, window, threshold
        self._of_template = [self._of(template.earliest_s, template.latest_s) for template in base.templates]

    def of(self, event: Event) -> Regions:
        """LH, LL, RL and RH of an event of the base stream."""
        return self._of_template[event.template].at(event.detected_at_us)

    def widest(self, latest_us: int) -> Regions:
        """Regions of (latest - pi, latest): LH and RL as far left as those of any base event that ends there."""
        return self._of(-self._base.longest_s, 0.0).at(latest_us - ROUNDING_US)

    def narrowest(self, latest_us: int) -> Regions:
        """Regions of (latest - rho, latest): LL and RH as far right as those of any base event that ends there."""
        return self._of(-self._base.shortest_s, 0.0).at(latest_us + ROUNDING_US)

    def obsolete_before_us(self, now_us: int) -> int:
        """LH(einv), einv = (now - delay - pi, now - delay), where now is the greatest max that has arrived."""
        return self.widest(now_us - self._base.max_delay_us).lh_us

    def _of(self, earliest_s: float, latest_s: float) -> Regions:
        rho_s, pi_s = self._partners.shortest_s, self._partners.longest_s
        length_s = latest_s - earliest_s
        left_s, right_s = earliest_s + self._window.lo_s, latest_s + self._window.hi_s
        possible = least_probability(self._threshold)
        lh_us = _down(left_s + difference_quantile(possible, length_s, rho_s))
        rh_us = _up(right_s + pi_s - difference_quantile(possible, length_s, pi_s))
        if self._window.hi_s - self._window.lo_s < length_s + pi_s:
            return Regions(lh_us, rh_us + 1, lh_us - 1, rh_us)
        ll_us = _up(left_s + difference_quantile(self._threshold, length_s, pi_s))
        rl_us = _down(right_s + rho_s - difference_quantile(self._threshold, length_s, rho_s))
        return Regions(lh_us, ll_us, rl_us, rh_us)


def difference_quantile(p: float, length_s: float, other_s: float) -> float:
    """Quantile at `p` of the difference of two uniform times, above its least possible value.

    The density of the difference is a trapezoid: it rises over the shorter length, is level, and falls again.
    """
    short_s, long_s = min(length_s, other_s), max(length_s, other_s)
    if p > 0.5:
        return short_s + long_s - difference_quantile(1.0 - p, length_s, other_s)
    if p * long_s <= short_s / 2:
        return math.sqrt(2 * p * short_s * long_s)
    return p * long_s + short_s / 2


def refuse_short_window(recording: Recording, window: Window) -> None:
    """Raise WindowError if both ends of the window may fail for one pair (the papers' d >= pi, for any window)."""
    longest_s = sum(parameters.longest_s for parameters in recording.parameters.values())
    if window.hi_s - window.lo_s < longest_s:
        allowed = f"at least as long as the longest templates of both streams together, {longest_s:g} s"
        raise WindowError("window", window, allowed)


def _down(seconds: float) -> int:
    return math.floor(seconds * 1e6) - ROUNDING_US


def _up(seconds: float) -> int:
    return math.ceil(seconds * 1e6) + ROUNDING_US


def region_tables(answer: TimingAnswer) -> dict[str, RegionTable]:
    """One table for each base stream."""
    known = answer.recording.parameters
    return {
        stream: RegionTable(known[stream], known[other], answer.windows[stream], answer.threshold)
        for stream, other in answer.other.items()
    }
