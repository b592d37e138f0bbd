"""HistogramTimestamp: when an event may have occurred, as the paper's definitions and lemmas write it."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.arrays import FloatArray
from coincide.histogram import Histogram

MICROSECONDS_PER_SECOND = 1e6


@dataclass(frozen=True, eq=False)
class HistogramTimestamp:
    """H = ((I_1, p_1), ..., (I_n, p_n)): adjacent buckets, uniform inside each.

    The unit of time is the caller's. The joins use microseconds counted from the reported time of one event of
    the pair: whole microseconds are then exact in floats, and small.

    Attributes
    ----------
    points : ndarray of float64, shape (n + 1,)
        The time points min(I_1), ..., min(I_n), max(I_n), not decreasing. Two equal ones are an exact time (the paper
        has none: its intervals have a length).
    mass : ndarray of float64, shape (n,)
        Probability of each bucket; sums to 1.

    References
    ----------
    Definition 1 of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006).

    Examples
    --------
    >>> phi = HistogramTimestamp.of_template(Histogram([0, 20, 30, 40], [0.1, 0.3, 0.6]), units_per_second=1)
    >>> later = phi + 20
    >>> later.min, later.max, len(later)
    (20.0, 60.0, 3)
    """

    points: FloatArray
    mass: FloatArray

    @classmethod
    def of_template(cls, template: Histogram, units_per_second: float = MICROSECONDS_PER_SECOND) -> HistogramTimestamp:
        """Return the timestamp of an event reported at time 0."""
        return cls(template.edges_s * units_per_second, template.mass)

    @property
    def min(self) -> float:
        """Earliest possible occurrence."""
        return float(self.points[0])

    @property
    def max(self) -> float:
        """Latest possible occurrence."""
        return float(self.points[-1])

    def __len__(self) -> int:
        """|H|, the number of buckets."""
        return len(self.mass)

    def __add__(self, x: float) -> HistogramTimestamp:
        return HistogramTimestamp(self.points + x, self.mass)

    def __sub__(self, x: float) -> HistogramTimestamp:
        return HistogramTimestamp(self.points - x, self.mass)
