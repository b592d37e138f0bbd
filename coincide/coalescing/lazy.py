"""LazyCoalescing: keeps the readings of a window extent and coalesces when it is scanned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from coincide.arrays import Int64Array
from coincide.coalescing.arrivals import Arrivals
from coincide.coalescing.batch import EQUAL, coalesce
from coincide.coalescing.columns import duration_of
from coincide.coalescing.equivalences import Equivalence, checked_equivalence
from coincide.coalescing.extent import HeldReadings, Key, WindowExtent, checked_extent
from coincide.coalescing.runs import Label, Runs, value_column
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
    >>> late, late_by_us = hot.push([0, 60, 120, 180, 240], value=[81, 81, 81, 79, 79])
    >>> [(run.start_us, run.end_us, run.value, run.is_open) for run in hot.scan()]
    [(60, 180, 81, False), (180, 240, 79, True)]
    """

    def __init__(self, extent: WindowExtent, equivalence: Equivalence = EQUAL, hold_us: int | None = None) -> None:
        self._extent = checked_extent(extent)
        self._equivalence = checked_equivalence(equivalence)
        self._hold_us = None if hold_us is None else duration_of("hold_us", hold_us)
        self._arrivals = Arrivals(equivalence)
        self._scopes: dict[Label | None, HeldReadings] = {}

    def push(
        self,
        ts_us: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        id: npt.ArrayLike | None = None,  # noqa: A002 - as in Detections
    ) -> tuple[Int64Array, Int64Array]:
        """Take readings in any order; columns as in `EagerCoalescing.push`.

        Returns
        -------
        late, late_by_us : ndarray of int64, shape (l,)
            Rows that came too late to count, and by how much.
        """
        late = []
        for row, (ts, group_of_row, value_of_row, id_of_row) in enumerate(self._arrivals.of(ts_us, group, value, id)):
            late_by = self._scope(group_of_row).add((ts, group_of_row, id_of_row), value_of_row)
            if late_by is not None:
                late.append((row, late_by))
        rows, late_by_us = np.array(late, np.int64).reshape(-1, 2).T
        return rows, late_by_us

    def scan(self) -> Runs:
        """Return the runs of the extent as it is now, by group and start; first and last are ids."""
        value_of: dict[Key, object] = {}
        for scope in self._scopes.values():
            value_of |= scope.value_of
        keys = sorted(value_of)
        ts = np.array([key[0] for key in keys], np.int64)
        group = np.array([key[1] for key in keys]) if keys else np.empty(0, np.int64)
        ids = np.array([key[2] for key in keys]) if keys else np.empty(0, np.int64)
        value = value_column([value_of[key] for key in keys])
        runs = coalesce(*validity(ts, group, self._hold_us), group, value, self._equivalence)
        return replace(runs, first=ids[runs.first], last=ids[runs.last])

    def _scope(self, group: Label) -> HeldReadings:
        name = group if self._extent.per_group else None
        scope = self._scopes.get(name)
        if scope is None:
            scope = self._scopes[name] = HeldReadings(self._extent)
        return scope
