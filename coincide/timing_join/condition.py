"""JoinCondition: the papers' jc, which streams a timing join reads and when two events match."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.errors import WindowError
from coincide.timing_join.sensor_rule import SensorRule, checked_sensor_rule
from coincide.window import Window, checked_threshold, checked_window


@dataclass(frozen=True)
class JoinCondition:
    """P(lo <= Xb - Xa <= hi) >= threshold for events of streams `a` and `b`.

    Parameters
    ----------
    a, b : str
        Names of the streams; the same name twice is a self-join. With a symmetric window that yields unordered
        pairs whose roles follow (detected_at, sensor, id); with another window both orientations are tried.
    window : Window
    threshold : float
        In (0, 1].
    sensors : {"different", "same", "any"}
        Which sensors the two events may come from.

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
