"""Edge: one time constraint between two streams of a window join."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.errors import GraphError
from coincide.window import Window, checked_threshold, checked_window


@dataclass(frozen=True)
class Edge:
    """P(lo <= Xb - Xa <= hi) >= threshold for the member from `a` and the member from `b`.

    Parameters
    ----------
    a, b : str
        Two different streams.
    window : Window
    threshold : float, optional
        In (0, 1]. None: the joint threshold alone decides, or where times are exact the window alone.

    Raises
    ------
    GraphError
        The streams are one and the same.
    WindowError, ThresholdError
    """

    a: str
    b: str
    window: Window
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.a == self.b:
            raise GraphError("edges", (self.a, self.b), "two different streams")
        checked_window(self.window)
        if self.threshold is not None:
            checked_threshold(self.threshold)

    @property
    def pair(self) -> frozenset[str]:
        """The two streams, in no order."""
        return frozenset((self.a, self.b))
