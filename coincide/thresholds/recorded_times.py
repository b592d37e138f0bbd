"""Recorded time: the stretches of time in which something was recorded, without the pauses between them.

Who records eight hours a day, or left the recorder off for a week, has rates only for the time in which it ran. Chance
over the empty hours as well would be far too small: a pause that is as long as the recording makes a rate of pairs a
quarter of what it is, and twice the time gives half as many pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.window import MICROSECONDS_PER_SECOND

PAUSE = 20  # times the mean time between reports of the busiest sensor; of a steady sensor one gap in e**20 is as long


@dataclass(frozen=True, eq=False)
class RecordedTime:
    """Stretches of time, k of them, ascending; between two of them lies a pause.

    A stretch begins with a report and ends with one, both moments included.

    Attributes
    ----------
    first_us, last_us : Int64Array, shape (k,)
    """

    first_us: Int64Array
    last_us: Int64Array

    @property
    def seconds(self) -> float:
        """Length of all stretches: the time over which rates and chance are told."""
        return float((self.last_us - self.first_us).sum()) / MICROSECONDS_PER_SECOND

    @property
    def span_s(self) -> float:
        """Time from the first report to the last, pauses and all."""
        return float(self.last_us[-1] - self.first_us[0]) / MICROSECONDS_PER_SECOND if len(self.first_us) else 0.0

    @property
    def pauses(self) -> int:
        """How many pauses there are."""
        return max(0, len(self.first_us) - 1)

    @property
    def moments(self) -> int:
        """How many microseconds are recorded, the first and the last of each stretch among them."""
        return int(self._before[-1])

    def turned(self, at_us: Int64Array, by_us: Int64Array | int) -> Int64Array:
        """Move recorded moments on by so much recorded time; what passes the end goes on from the beginning.

        Pauses are passed over at once. So each recorded moment goes to another one, no two to the same, and what was
        recorded without a pause between stays as far apart, save for what the end or a pause comes between.

        Parameters
        ----------
        at_us : Int64Array, shape (n,)
            Each in one of the stretches.
        by_us : Int64Array, shape (n,), or int
            Of any size and sign.

        Examples
        --------
        >>> two = RecordedTime(np.array([0, 100]), np.array([9, 109]))
        >>> two.turned(np.array([0, 8, 105]), 3).tolist(), two.turned(np.array([0, 8, 105]), 6).tolist()
        ([3, 101, 108], [6, 104, 1])
        """
        stretch = np.searchsorted(self.first_us, at_us, side="right") - 1
        place = (self._before[stretch] + at_us - self.first_us[stretch] + by_us) % max(1, self.moments)
        moved_to = np.searchsorted(self._before, place, side="right") - 1
        return self.first_us[moved_to] + place - self._before[moved_to]

    @cached_property
    def _before(self) -> Int64Array:
        """Recorded microseconds before each stretch, and all of them."""
        return np.concatenate(([0], np.cumsum(self.last_us - self.first_us + 1))).astype(np.int64)


def recorded_time(at_us: Int64Array, reports: int) -> RecordedTime:
    """Return when something was recorded, by when reports came.

    A pause is a time without any report that is more than 20 times as long as the mean time between reports of the
    busiest sensor. A sensor that reports as it pleases leaves such a gap once in half a billion reports, so who reports
    rarely has no pauses, however long it is silent: with 20 reports or fewer there are none.

    Parameters
    ----------
    at_us : Int64Array, shape (n,)
        Reports of all sensors of one area, in any order.
    reports : int
        How many of them the busiest sensor has made.

    Examples
    --------
    A report a second for a minute, and again a day later:

    >>> minute = np.arange(61) * 1_000_000
    >>> of = recorded_time(np.concatenate([minute, minute + 86_400_000_000]), 122)
    >>> of.seconds, of.pauses, of.span_s
    (120.0, 1, 86460.0)
    """
    if len(at_us) == 0:
        return RecordedTime(np.empty(0, np.int64), np.empty(0, np.int64))
    ascending = np.sort(at_us)
    longest_gap_us = PAUSE * int(ascending[-1] - ascending[0]) // max(1, reports)
    resumes = np.flatnonzero(np.diff(ascending) > longest_gap_us) + 1
    return RecordedTime(ascending[np.insert(resumes, 0, 0)], ascending[np.append(resumes, len(ascending)) - 1])
