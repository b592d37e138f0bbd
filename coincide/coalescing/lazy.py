"""LazyCoalescing: keeps the readings of a window extent and coalesces when it is scanned."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from coincide.changes import Changes
from coincide.coalescing.arrivals import Arrivals
from coincide.coalescing.batch import EQUAL, coalesce
from coincide.coalescing.columnar_readings import ColumnarReadings
from coincide.coalescing.columns import duration_of
from coincide.coalescing.equivalences import Equivalence, checked_equivalence
from coincide.coalescing.extent import WindowExtent, checked_extent
from coincide.coalescing.held_readings import SingleReadings
from coincide.coalescing.runs import Runs, value_column
from coincide.coalescing.two_ways import TwoWays
from coincide.coalescing.validity import validity


class LazyCoalescing:
    """Algorithm 1 of the coalescing paper and its time-based form, corrected.

    An update costs a logarithm of the extent, a scan coalesces all of it. At every scan the runs are those of
    `EagerCoalescing`, whatever the order of arrival.

    Parameters
    ----------
    extent : WindowExtent
        Which readings count.
    equivalence : Equivalence
        Which value goes on from the one before it.
    hold_us : int, optional
        How long a reading holds at most. Left out: until the next one of its group.

    Raises
    ------
    CoalescingError
        Names the argument or column, the value and what is allowed.

    Examples
    --------
    >>> hot = LazyCoalescing(WindowExtent(size=4))
    >>> changes = hot.push([0, 60, 120, 180, 240], value=[81, 81, 81, 79, 79])
    >>> [(run.start_us, run.end_us, run.value, run.is_open) for run in hot.scan()]
    [(60, 180, 81, False), (180, 240, 79, True)]
    """

    def __init__(self, extent: WindowExtent, equivalence: Equivalence = EQUAL, hold_us: int | None = None) -> None:
        checked_extent(extent)
        self._equivalence = checked_equivalence(equivalence)
        self._hold_us = None if hold_us is None else duration_of("hold_us", hold_us)
        self._arrivals = Arrivals(equivalence)
        self._ways = TwoWays(partial(SingleReadings, extent), partial(ColumnarReadings, extent))

    def push(
        self,
        ts_us: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        id: npt.ArrayLike | None = None,  # noqa: A002 - as in Detections
        where: npt.ArrayLike | None = None,
    ) -> Changes[Runs]:
        """Take readings in any order; columns as in `EagerCoalescing.push`.

        Returns
        -------
        Changes of Runs
            `late` and `late_by_us` as in `EagerCoalescing.push`. `insert` and `retract` are empty: which runs came and
            went only a scan can say.
        """
        frame = self._arrivals.of(ts_us, group, value, id, where)
        return self._ways.suited(len(frame.ts_us)).push(frame)

    def scan(self) -> Runs:
        """Return the runs of the extent as it is now, by group and start; first and last are ids."""
        held = self._ways.held.readings()
        start, end = validity(held.ts_us, held.group, self._hold_us)
        kept = np.flatnonzero(held.kept)
        left = held.take(kept)
        runs = coalesce(start[kept], end[kept], left.group, left.value, self._equivalence)
        is_open = runs.is_open
        if len(kept) < len(start):
            newest = np.append(held.group[1:] != held.group[:-1], True)  # readings are by group
            newest_us = start[newest][np.searchsorted(held.group[newest], runs.group)]
            is_open = start[kept[runs.last]] == newest_us
        value = runs.value
        if value is not None and value.dtype.kind == "O":
            value = value_column(value.tolist())
        return replace(runs, value=value, first=left.ref[runs.first], last=left.ref[runs.last], is_open=is_open)
