"""Partitions of a max-time sorted stream: where events match, where they do not, where one has to look.

The paper writes them for a window [-d, d] with d as long as the longest template. Here the window is [lo, hi] with
hi - lo as long as the longest templates of both streams together, which [-d, d] is then: d is hi, -d is lo.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coincide.timing_join.replay import Event
from coincide.window import Window


@dataclass(frozen=True)
class Partitions:
    """Ranges of max(H_j) of the events b_j of a stream, for one event a_i of the other stream.

    Attributes
    ----------
    least_us, sure_first_us, sure_last_us, greatest_us : int
        LPR = [least, sure_first), SR = [sure_first, sure_last], RPR = (sure_last, greatest]; the rest is the
        violation range. Where one or more probing ranges meet, SR is empty and sure_first = sure_last + 1.
    """

    least_us: int
    sure_first_us: int
    sure_last_us: int
    greatest_us: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "sure_first_us", min(self.sure_first_us, self.sure_last_us + 1))

    def at(self, max_time_us: int) -> Partitions:
        """Return the same partitions, `max_time_us` later."""
        bounds = (self.least_us, self.sure_first_us, self.sure_last_us, self.greatest_us)
        return Partitions(*(bound + max_time_us for bound in bounds))

    def is_satisfied(self, held: Event) -> bool:
        """Whether an event is in SR."""
        return self.sure_first_us <= held.latest_us <= self.sure_last_us

    def is_left(self, held: Event) -> bool:
        """Whether an event is left of SR."""
        return held.latest_us < self.sure_first_us


def partitions_for_any_threshold(new: Event, window: Window, longest_us: int) -> Partitions:
    """Return the partitions by Equations 4 to 6, which know no threshold and of the templates but the longest.

    Bounds that are no whole microsecond are rounded so that the probing ranges grow.

    Parameters
    ----------
    new : Event
        a_i.
    window : Window
        Of X_j - X_i.
    longest_us : int
        pi_B, the length of the longest template of the other stream, rounded up.

    Examples
    --------
    >>> a_i = Event("a", 0, 60, template=0, earliest_us=20, latest_us=60, now_us=60)
    >>> partitions_for_any_threshold(a_i, Window(100e-6), longest_us=50)
    Partitions(least_us=-80, sure_first_us=10, sure_last_us=120, greatest_us=210)
    """
    lo_us, hi_us = window.lo_s * 1e6, window.hi_s * 1e6
    return Partitions(
        new.earliest_us + math.floor(lo_us),
        new.latest_us + math.ceil(lo_us) + longest_us,
        new.earliest_us + math.floor(hi_us),
        new.latest_us + math.ceil(hi_us) + longest_us,
    )
