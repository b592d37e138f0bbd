"""SensorRule and JoinCondition: from which sensors the members of a match may come, and when two events match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray
from coincide.constraints.window import Window, checked_threshold, checked_window
from coincide.errors import SensorRuleError, WindowError

SensorRule = Literal["different", "same", "any"]
"""From which sensors the members of a match come: different ones, the same, or any."""

UNKNOWN_SENSOR = -1  # a detection without a sensor counts as its own sensor: different from every other


def checked_sensor_rule(rule: str) -> SensorRule:
    """Return the rule if it is one, else raise SensorRuleError."""
    for known in get_args(SensorRule):
        if rule == known:
            return known  # type: ignore[no-any-return]
    raise SensorRuleError("sensors", rule, "'different', 'same' or 'any'")


def unknown_sensor(rows: int) -> CodeArray:
    """Return UNKNOWN_SENSOR for every row, without memory for it."""
    return np.broadcast_to(np.int32(UNKNOWN_SENSOR), rows)


def allowed(rule: SensorRule, one: CodeArray, other: CodeArray) -> BoolArray | None:
    """Whether each pair of sensor codes may match, bool (n,); None if all may without looking."""
    if rule == "any":
        return None
    same: BoolArray = (one == other) & (one != UNKNOWN_SENSOR)
    return same if rule == "same" else ~same


@dataclass(frozen=True)
class MemberRules:
    """Which events may be members of one tuple, whatever their times; those with a ref below `since_ref` may not.

    `twins` are pairs of roles, the first before the second, that one stream plays: their members differ. Those of twins
    `in_order` are in order, too. With `root_arrived_last` only tuples whose root has the greatest ref count.
    """

    sensors: SensorRule = "any"
    since_ref: int = 0
    twins: tuple[tuple[int, int], ...] = ()
    in_order: tuple[tuple[int, int], ...] = ()
    root_arrived_last: bool = False

    def must_differ(self, one: int, other: int) -> bool:
        """Whether members of two roles have yet to be told apart: their order does not do it."""
        pair = (min(one, other), max(one, other))
        return pair in self.twins and pair not in self.in_order


@dataclass(frozen=True)
class JoinCondition:
    """P(lo <= Xb - Xa <= hi) >= threshold for events of streams `a` and `b`, from the sensors that a rule allows.

    The same name twice is a self-join. With a symmetric window that yields unordered pairs whose roles follow
    (detected_at, sensor, id); with another window both orientations are tried.

    Raises
    ------
    ThresholdError, SensorRuleError
    WindowError
        No Window, or a deadline or a delay: every event could find a partner for ever, so none could be dropped from
        a stream.
    """

    a: str
    b: str
    window: Window
    threshold: float
    sensors: SensorRule = "different"

    def __post_init__(self) -> None:
        checked_threshold(self.threshold)
        checked_sensor_rule(self.sensors)
        if checked_window(self.window).is_open:
            raise WindowError("window", self.window, "closed at both ends in a stream: timing_join takes open ones")

    @property
    def is_self_join(self) -> bool:
        """Whether both roles are played by one stream."""
        return self.a == self.b

    @property
    def is_unordered(self) -> bool:
        """Whether each pair of events counts once, whichever plays a: a self-join with a symmetric window."""
        return self.is_self_join and self.window.is_symmetric
