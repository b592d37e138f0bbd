"""RunChanges: which runs came and went, netted while an update is under way."""

from __future__ import annotations

from coincide.coalescing.runs import Label, Run

RunKey = tuple[Label, int]  # (group, start_us), the stable id of a run


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

    def insert(self, run: Run) -> None:
        """Say that a run is there now."""
        key = run[:2]
        if self.retracted.get(key) == run:
            del self.retracted[key]
        else:
            self.inserted[key] = run

    def retract(self, run: Run) -> None:
        """Say that a run is no longer there."""
        key = run[:2]
        if self.inserted.pop(key, None) is None:
            self.retracted[key] = run
