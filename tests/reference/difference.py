"""The slow obvious twin of coincide.probability.difference: exact arithmetic, one pair of buckets at a time.

Times are whole numbers of 2**-90 microseconds, in which every float above 1e-11 s, every microsecond and every
nanosecond is exact.
"""

from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from coincide import Histogram, Window

UNITS_PER_SECOND = 10**9 * 2**90
ATOM_TOLERANCE = UNITS_PER_SECOND // 10**9  # an atom within 1 ns of a bound lies on it

Number: TypeAlias = Fraction | float
Interval: TypeAlias = tuple[Number, Number]


def exact_probability(u: Histogram, v: Histogram, offset: Fraction, window: Window) -> Fraction:
    """P(lo <= Xv - Xu + offset <= hi), edges, masses and bounds taken as the exact floats they are."""
    lo, hi = _units(Fraction(window.lo_s) - offset), _units(Fraction(window.hi_s) - offset)
    shares = ((p * q, *share_between(a, b, lo, hi, ATOM_TOLERANCE)) for a, p in _buckets(u) for b, q in _buckets(v))
    return sum((mass * Fraction(part, whole) for mass, part, whole in shares), Fraction(0))  # type: ignore[arg-type]


def _units(seconds: Fraction) -> int:
    scaled = seconds * UNITS_PER_SECOND
    assert scaled.denominator == 1, f"{seconds} is finer than this twin can be exact about"
    return scaled.numerator


@lru_cache(maxsize=256)
def _buckets(h: Histogram) -> list[tuple[Interval, Fraction]]:
    edges = [_units(Fraction(edge)) for edge in h.edges_s.tolist()]
    masses = [Fraction(mass) for mass in h.mass.tolist()]
    return [((edges[k], edges[k + 1]), mass) for k, mass in enumerate(masses) if mass]


def share_between(a: Interval, b: Interval, lo: Number, hi: Number, slack: int = 0) -> tuple[Number, Number]:
    """P(lo <= B - A <= hi), as part and whole, for A and B uniform over `a` and `b`; a bound has atoms `slack` beside.

    In floats it is good to about 1e-12 where the bounds are reached by the buckets.
    """
    if b[1] - a[0] < lo - slack or b[0] - a[1] > hi + slack:
        return 0, 1
    if a[0] == a[1] and b[0] == b[1]:
        return 1, 1
    if a[0] == a[1]:
        return _overlap(b, (a[0] + lo, a[0] + hi)), b[1] - b[0]
    if b[0] == b[1]:
        return _overlap(a, (b[0] - hi, b[0] - lo)), a[1] - a[0]
    return _twice_area_up_to(a, b, hi) - _twice_area_up_to(a, b, lo), 2 * (a[1] - a[0]) * (b[1] - b[0])


def _overlap(a: Interval, b: Interval) -> Number:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def _twice_area_up_to(a: Interval, b: Interval, x: Number) -> Number:
    """Twice the area of the part of the rectangle a x b where B - A <= x: triangles, by inclusion and exclusion."""
    x = min(x, b[1] - a[0])
    corners = ((b[0] - a[1], 1), (b[0] - a[0], -1), (b[1] - a[1], -1))
    return sum(sign * max(0, x - corner) ** 2 for corner, sign in corners)
