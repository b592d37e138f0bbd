"""TiedReadings: readings that wait behind another of their group at the same instant."""

from __future__ import annotations

from bisect import insort
from typing import Any

from coincide.coalescing.runs import Label

Waiting = tuple[Label, Any]  # (id, value)


class TiedReadings:
    """By instant, in the order of their ids.

    Examples
    --------
    >>> ties = TiedReadings()
    >>> ties.add(60, "r3", 79)
    >>> ties.add(60, "r2", 80)
    >>> ties.holds(60, "r3"), ties.holds(60, "r1")
    (True, False)
    >>> ties.pop(60), 60 in ties, ties.pop(60), 60 in ties
    (('r2', 80), True, ('r3', 79), False)
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[int, list[Waiting]] = {}

    def __contains__(self, ts_us: int) -> bool:
        return ts_us in self._waiting

    def add(self, ts_us: int, ref: Label, value: Any) -> None:
        """Let a reading wait."""
        insort(self._waiting.setdefault(ts_us, []), (ref, value), key=_id_of)

    def pop(self, ts_us: int) -> Waiting:
        """Take the one with the smallest id; there must be one."""
        waiting = self._waiting[ts_us]
        first = waiting.pop(0)
        if not waiting:
            del self._waiting[ts_us]
        return first

    def at(self, ts_us: int) -> list[Waiting]:
        """Return those that wait at an instant, by id."""
        return self._waiting.get(ts_us, [])

    def holds(self, ts_us: int, ref: Label) -> bool:
        """Whether a reading of that id waits."""
        return any(ref == other for other, _ in self._waiting.get(ts_us, ()))


def _id_of(waiting: Waiting) -> Any:
    return waiting[0]
