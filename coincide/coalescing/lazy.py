"""LazyCoalescing: keeps the readings of a window extent and coalesces when it is scanned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.coalescing.arrivals import Arrivals
from coincide.coalescing.batch import EQUAL, coalesce
from coincide.coalescing.columns import duration_of
from coincide.coalescing.equivalences import Equivalence, checked_equivalence
from coincide.coalescing.extent import HeldReadings, Key, WindowExtent, checked_extent
from coincide.coalescing.link import LEFT_OUT
from coincide.coalescing.run_changes import RunChanges
from coincide.coalescing.runs import Label, Runs, label_column, value_column
from coincide.coalescing.validity import validity
from coincide.pairs import Changes


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
        late = []
        for row, (ts, group_of_row, value_of_row, id_of_row) in enumerate(frame.arrivals()):
            late_by = self._scope(group_of_row).add((ts, group_of_row, id_of_row), value_of_row)
            if late_by is not None:
                late.append((row, late_by))
        return RunChanges().changes(late)

    def scan(self) -> Runs:
        """Return the runs of the extent as it is now, by group and start; first and last are ids."""
        value_of: dict[Key, Any] = {}
        for scope in self._scopes.values():
            value_of |= scope.value_of
        keys = sorted(value_of)
        ts, group, ids = zip(*keys, strict=True) if keys else [()] * 3
        groups = label_column(group)
        start, end = validity(np.array(ts, np.int64), groups, self._hold_us)
        kept = np.array([row for row, key in enumerate(keys) if value_of[key] is not LEFT_OUT], np.intp)
        values = value_column([value_of[keys[row]] for row in kept])
        runs = coalesce(start[kept], end[kept], groups[kept], values, self._equivalence)
        named = label_column(ids)[kept]
        is_open = runs.is_open
        if len(kept) < len(keys):
            newest = {key[1]: key[0] for key in keys}
            lasts = kept[runs.last].tolist()
            is_open = np.array([newest[keys[row][1]] == keys[row][0] for row in lasts], np.bool_)
        return replace(runs, first=named[runs.first], last=named[runs.last], is_open=is_open)

    def _scope(self, group: Label) -> HeldReadings:
        name = group if self._extent.per_group else None
        scope = self._scopes.get(name)
        if scope is None:
            scope = self._scopes[name] = HeldReadings(self._extent)
        return scope
