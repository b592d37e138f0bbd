"""MemberRules: which events may be members of one tuple, whatever their times."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.timing_join.sensor_rule import SensorRule


@dataclass(frozen=True)
class MemberRules:
    """Which events may be members of one tuple, whatever their times.

    Attributes
    ----------
    sensors : SensorRule
    since_ref : int
        Events with a smaller ref do not count.
    twins : tuple of (int, int)
        Pairs of roles, the first before the second, that one stream plays: their members are different events.
    twins_in_order : bool
        Twins play no part of their own: the member of the first role is the one that is sorted before the other.
    root_arrived_last : bool
        Only tuples whose root has the greatest ref count.
    """

    sensors: SensorRule = "any"
    since_ref: int = 0
    twins: tuple[tuple[int, int], ...] = ()
    twins_in_order: bool = False
    root_arrived_last: bool = False
