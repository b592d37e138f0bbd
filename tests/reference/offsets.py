"""The slow obvious twin of coincide.offsets.satisfying: every whole microsecond tried, in exact rational arithmetic."""

from fractions import Fraction

from coincide import Histogram, Window
from tests.reference.difference import exact_probability

TOLERANCE = Fraction(1, 10**12)


def probability_at(u: Histogram, v: Histogram, offset_us: int, window: Window) -> Fraction:
    """P of two events reported `offset_us` apart."""
    return exact_probability(u, v, Fraction(offset_us, 10**6), window)


def range_to_try(u: Histogram, v: Histogram, window: Window) -> range:
    """Every offset at which P may be above zero, and a few beyond."""
    first = window.lo_us - v.latest_us + u.earliest_us - 3
    last = window.hi_us - v.earliest_us + u.latest_us + 3
    return range(first, last + 1)


def misjudged(
    u: Histogram, v: Histogram, window: Window, threshold: float, intervals: list[list[int]], offsets: range
) -> list[tuple[int, float]]:
    """Offsets on the wrong side of `intervals`, with their probability: P inside too small, or outside too large."""
    wrong = []
    for offset in offsets:
        excess = probability_at(u, v, offset, window) - Fraction(threshold)
        if excess < -TOLERANCE if any(lo <= offset <= hi for lo, hi in intervals) else excess >= TOLERANCE:
            wrong.append((offset, float(excess) + threshold))
    return wrong
