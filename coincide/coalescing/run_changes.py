"""RunChanges: which runs came and went, netted while an update is under way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.changes import Changes
from coincide.coalescing.runs import Label, Run, Runs

RunKey = tuple[Label, int, Label]  # (group, start_us, first): the stable id of a run; for readings group and start do


class RunChanges:
    """Inserts and retracts by run id; a run that went and came back the same is no change.

    Examples
    --------
    >>> run = Run("bay", 0, 20, 81, 3, 1, 3, True)
    >>> changes = RunChanges()
    >>> changes.retract(run)
    >>> changes.insert(run._replace(end_us=30))
    >>> changes.retract(run._replace(end_us=30))
    >>> changes.insert(run)
    >>> changes.inserted, changes.retracted
    ({}, {})
    """

    __slots__ = ("inserted", "retracted")

    def __init__(self) -> None:
        self.inserted: dict[RunKey, Run] = {}
        self.retracted: dict[RunKey, Run] = {}

    def alter(self, run: Run, to: Run) -> None:
        """Say that a run is another way now; its id stays."""
        key = run[0], run[1], run[5]
        if key not in self.inserted:
            self.retracted[key] = run
        elif self.retracted.get(key) == to:
            del self.inserted[key], self.retracted[key]
            return
        self.inserted[key] = to

    def insert(self, run: Run) -> None:
        """Say that a run is there now."""
        key = run[0], run[1], run[5]
        if self.retracted.get(key) == run:
            del self.retracted[key]
        else:
            self.inserted[key] = run

    def retract(self, run: Run) -> None:
        """Say that a run is no longer there."""
        key = run[0], run[1], run[5]
        if self.inserted.pop(key, None) is None:
            self.retracted[key] = run

    def changes(self, late: Sequence[tuple[int, int]]) -> Changes[Runs]:
        """Return them in columns, by group and start, with (row, by how much) of those that came too late."""
        rows, late_by_us = np.array(late, np.int64).reshape(-1, 2).T
        inserted, retracted = ([runs[key] for key in sorted(runs)] for runs in (self.inserted, self.retracted))
        return Changes(Runs.of(inserted), Runs.of(retracted), rows, late_by_us)
