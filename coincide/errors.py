"""Errors the library raises when its input cannot be used.

::

    ValueError
    └── CoincideError
        ├── HistogramError      edges, masses or parameters of a template
        ├── WindowError         bounds of a window
        ├── ThresholdError      a confidence threshold outside (0, 1]
        ├── OffsetError         an offset that is not finite, or at which no match is possible
        ├── RateError           a rate of detections
        ├── DetectionsError     a column of a frame, or one that does not fit the other frames (coincide.detections)
        ├── StreamError         a stream's name, delay, longest template or bound (coincide.stream)
        ├── GraphError          streams and constraints that make no graph (coincide.window_join)
        ├── CostError           a cost, probability or weight of the cost model (coincide.coalescing.unit_costs)
        ├── IntervalError       an interval, window, duration or fact that cannot be used (coincide.temporal)
        ├── SensorRuleError     a rule of sensors that does not exist or cannot be applied (coincide.timing_join)
        └── CoalescingError     rows, an equivalence or a window extent that cannot be coalesced (coincide.coalescing)
"""

from __future__ import annotations


class CoincideError(ValueError):
    """A value that the library cannot use: which field, what was given, what is allowed."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field} is {value!r}: {allowed}")
        self.field = field
        self.value = value
        self.allowed = allowed

    def __reduce__(self) -> tuple[type[CoincideError], tuple[str, object, str]]:
        return type(self), (self.field, self.value, self.allowed)


class HistogramError(CoincideError):
    """Edges, masses or parameters that make no probability distribution."""


class WindowError(CoincideError):
    """Window bounds that are not finite or not in order."""


class ThresholdError(CoincideError):
    """A confidence threshold outside (0, 1]."""


class OffsetError(CoincideError):
    """Offsets between reported times that are not finite numbers, or at which no match is possible."""


class RateError(CoincideError):
    """Rates of detections that are not finite numbers, or below 0."""
