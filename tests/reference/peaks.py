"""The slow obvious twin of coincide.thresholds.peaks: every whole microsecond tried, in exact rational arithmetic."""

from fractions import Fraction

from coincide import Histogram, Window
from tests.reference.offsets import probability_at, range_to_try


def greatest_probability(u: Histogram, v: Histogram, window: Window) -> Fraction:
    """The greatest P of two events, whatever the offset between their reports."""
    return max(probability_at(u, v, offset_us, window) for offset_us in range_to_try(u, v, window))
