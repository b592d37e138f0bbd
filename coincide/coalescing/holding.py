"""From readings to the intervals in which they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.coalescing.columns import duration_of, group_codes, labels_of, time_order, times_of

NEVER_US = -(1 << 63)
"""The end of a reading that holds at no time: another of its group at the same instant counts."""


def validity(
    ts_us: npt.ArrayLike, group: npt.ArrayLike | None = None, hold_us: int | None = None
) -> tuple[Int64Array, Int64Array]:
    """Give each reading the interval [start, end) in which its value holds (Section 2.3 of the coalescing paper).

    A reading holds until the next one of its group, at most `hold_us`. The newest of each group has no next one: it
    ends where it starts, and `coalesce` calls its run open. Of readings of one group at one instant the first row
    counts; the others end at `NEVER_US`, and `coalesce` passes over them.

    Filter rows after this, never before: a reading that does not interest still ends the one before it.

    Parameters
    ----------
    ts_us : array_like of int, shape (n,)
        Times of the readings, microseconds since the epoch, in any order.
    group : array_like of int or str, shape (n,), optional
        Whose reading it is. Left out: all are of one group.
    hold_us : int, optional
        How long a reading holds at most, 0 or more. Left out: without end, as in the paper.

    Returns
    -------
    start_us, end_us : ndarray of int64, shape (n,)
        In the order of the rows.

    Raises
    ------
    CoalescingError
        Names the column, the value and what is allowed.

    Examples
    --------
    >>> start_us, end_us = validity([0, 10, 25], hold_us=12)
    >>> start_us.tolist(), end_us.tolist()
    ([0, 10, 25], [10, 22, 25])
    """
    start_us = times_of("ts_us", ts_us)
    labels = np.zeros(len(start_us), np.int64) if group is None else labels_of("group", group, len(start_us))
    codes = group_codes(labels)
    order = time_order(codes, start_us)
    code, start = codes[order], start_us[order]
    end = np.empty_like(start_us)
    end[order] = _ends(code, start, hold_us)
    return start_us, end


def _ends(code: Int64Array, start_us: Int64Array, hold_us: int | None) -> Int64Array:
    new_group = np.concatenate([np.ones(min(1, len(code)), np.bool_), code[1:] != code[:-1]])
    counts = new_group.copy()
    counts[1:] |= start_us[1:] != start_us[:-1]
    (kept,) = np.nonzero(counts)
    start, newest = start_us[kept], np.ones(len(kept), np.bool_)
    newest[:-1] = new_group[kept[1:]]
    until = np.append(start[1:], start[-1:])
    if hold_us is not None:
        until = np.minimum(until, start + duration_of("hold_us", hold_us))
    ends = np.full(len(start_us), NEVER_US)
    ends[kept] = np.where(newest, start, until)
    return ends
