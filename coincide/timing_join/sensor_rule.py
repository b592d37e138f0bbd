"""SensorRule: which sensors the members of a match may come from."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from coincide.arrays import BoolArray, CodeArray
from coincide.errors import SensorRuleError

SensorRule = Literal["different", "same", "any"]

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
