"""The one tree of errors that the library raises when its input cannot be used.

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
        ├── CostError           a cost, probability or weight of the cost model (coincide.coalescing.costs.units)
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


class DetectionsError(CoincideError):
    """A column of a frame that cannot be used."""


class StreamError(CoincideError):
    """A stream's name, delay, longest template or bound on its buffer cannot be used."""


class GraphError(CoincideError):
    """Streams and constraints that make no graph a window join can follow."""


class CostError(CoincideError):
    """A cost, a probability, a weight or a window of the cost model that cannot be used."""


class IntervalError(CoincideError):
    """An interval, a window, a duration or a fact that cannot be used."""


class SensorRuleError(CoincideError):
    """A rule other than different, same and any, or one that cannot be applied."""


class CoalescingError(CoincideError):
    """A time, group, value, equivalence or window extent that cannot be used."""


class QueryError(ValueError):
    """A query that cannot be used.

    Attributes
    ----------
    field : str
        Path of the field, such as ``within[0].threshold``.
    message : str
        What is wrong with it and what is allowed.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message

    def __reduce__(self) -> tuple[type[QueryError], tuple[str, str]]:
        return type(self), (self.field, self.message)
