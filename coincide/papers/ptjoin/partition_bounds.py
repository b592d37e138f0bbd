"""The partitions of a max-time sorted stream, and the satisfaction times that bound them, made once.

The paper writes them for a window [-d, d] with d as long as the longest template. Here the window is [lo, hi] with
hi - lo as long as the longest templates of both streams together, which [-d, d] is then: d is hi, -d is lo.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.window import Window
from coincide.offsets.ranges import NEVER_HI_US, NEVER_LO_US
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.papers.counted_answer import TimingAnswer
from coincide.papers.recording import Event
from coincide.templates.histogram import Histogram


@dataclass(frozen=True)
class Partitions:
    """Ranges of max(H_j) of the events b_j of a stream, for one event a_i of the other stream.

    LPR = [least, sure_first), SR = [sure_first, sure_last], RPR = (sure_last, greatest]; the rest is the violation
    range. Where one or more probing ranges meet, SR is empty and sure_first = sure_last + 1.
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

    def is_satisfied(self, partner: Event) -> bool:
        """Whether an event is in SR."""
        return self.sure_first_us <= partner.latest_us <= self.sure_last_us

    def is_left(self, partner: Event) -> bool:
        """Whether an event is left of SR."""
        return partner.latest_us < self.sure_first_us


def bound_us(seconds: float) -> float:
    """Return a bound of a window in microseconds: the whole one that it is the nearest number of seconds to, if any.

    2.01 s are 2,010,000 us, but the product in float64 is less, so that a pair at the very end would be lost.
    """
    nearest = round(seconds * 1e6)
    return nearest if nearest / 1e6 == seconds else seconds * 1e6


def partitions_for_any_threshold(new: Event, window: Window, longest_us: int) -> Partitions:
    """Return the partitions for `new` by Equations 4 to 6, which know no threshold and only the longest template.

    `longest_us` is pi_B, the length of the other stream's longest template, rounded up. Bounds that are no whole
    microsecond are rounded so that the probing ranges grow.
    """
    lo_us, hi_us = bound_us(window.lo_s), bound_us(window.hi_s)
    return Partitions(
        new.earliest_us + math.floor(lo_us),
        new.latest_us + math.ceil(lo_us) + longest_us,
        new.earliest_us + math.floor(hi_us),
        new.latest_us + math.ceil(hi_us) + longest_us,
    )


@dataclass(frozen=True, eq=False)
class InstalledCondition:
    """jc : (d, delta) for events a_i that arrive and events b_j that the other stream holds, arrays of shape (u, v).

    Times are whole microseconds of max(H_j) - max(H_i), the coordinates of max-time sorted streams. They are the
    offsets of a `SatisfactionTable`, which are exact; `satisfaction_time` is its readable twin.

    Theorems 2, 3 and 4. The proof of Theorem 3 writes g(-d) for the right probing range; its statement and Theorem 2
    have g(d), which is right.
    """

    earliest_us: Int64Array  # stime(phi_u, phi_v, 1 - delta) - d - max(phi_u): matches from here on (Equation 9)
    latest_us: Int64Array  # stime(phi_u, phi_v, delta) + d - max(phi_u): matches up to here (Equation 8)

    @classmethod
    def install(
        cls, us: Sequence[Histogram], vs: Sequence[Histogram], window: Window, threshold: float
    ) -> InstalledCondition:
        """Compute the satisfaction times of all pairs; the window must be as long as their templates together."""
        table = SatisfactionTable.build(us, vs, window, threshold)
        max_u_us, max_v_us = (np.array([template.latest_us for template in each], np.int64) for each in (us, vs))
        to_max_times = max_v_us - max_u_us[:, None]
        return cls(table.lo_us + to_max_times, table.hi_us + to_max_times)

    def swapped(self) -> InstalledCondition:
        """Return the same condition for events of the b side that arrive."""
        return InstalledCondition(-self.latest_us.T, -self.earliest_us.T)

    def is_match(self, new: Event, partner: Event) -> bool:
        """Theorem 2: compare with numbers looked up, whatever the templates' number of buckets.

        By Lemma 2 only one of Equations 8 and 9 can fail; asking both needs no rule for max times that are equal.
        """
        gap_us = partner.latest_us - new.latest_us
        return self._earliest[new.template][partner.template] <= gap_us <= self._latest[new.template][partner.template]

    def partitions(self, new: Event) -> Partitions:
        """Theorem 3: the tightest partitions of the other stream."""
        return self._partitions[new.template].at(new.latest_us)

    def obsolete_before_us(self, new: Event, max_delay_us: int) -> int:
        """Theorem 4: an event with a max time before this matches neither `new` nor what arrives after it.

        `max_delay_us` is D, how late an event of the stream of `new` may come.
        """
        return new.latest_us - max_delay_us + self._t_min_us

    @cached_property
    def _t_min_us(self) -> int:
        return int(self.earliest_us.min(initial=NEVER_LO_US))  # t_min - d: no partner is further back than this

    @cached_property
    def _earliest(self) -> list[list[int]]:
        return cast("list[list[int]]", self.earliest_us.tolist())

    @cached_property
    def _latest(self) -> list[list[int]]:
        return cast("list[list[int]]", self.latest_us.tolist())

    @cached_property
    def _partitions(self) -> list[Partitions]:
        both = (self.earliest_us, self.latest_us)
        ends = [(each.min(axis=1, initial=NEVER_LO_US), each.max(axis=1, initial=NEVER_HI_US)) for each in both]
        return [Partitions(*row) for row in np.stack([*ends[0], *ends[1]], axis=1).tolist()]


def installed_conditions(answer: TimingAnswer) -> dict[str, InstalledCondition]:
    """Return the condition for events of each stream that arrive."""
    a, b = answer.streams
    us, vs = (answer.recording.streams[stream].templates for stream in (a, b))
    of_a = InstalledCondition.install(us, vs, answer.windows[a], answer.threshold)
    return {a: of_a, b: of_a.swapped()}
