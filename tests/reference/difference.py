"""The slow obvious twin of coincide.difference: exact rational arithmetic, one pair of buckets at a time."""

from __future__ import annotations

from fractions import Fraction

from coincide import Histogram, Window

ATOM_TOLERANCE = Fraction(1, 10**9)  # an atom this close to a bound lies on it


def exact_probability(u: Histogram, v: Histogram, offset: Fraction, window: Window) -> Fraction:
    """P(lo <= Xv - Xu + offset <= hi), edges, masses and bounds taken as the exact floats they are."""
    lo, hi = Fraction(window.lo_s) - offset, Fraction(window.hi_s) - offset
    return sum(
        (p * q * _share_between(a, b, lo, hi) for a, p in _buckets(u) for b, q in _buckets(v)),
        start=Fraction(0),
    )


def _buckets(h: Histogram) -> list[tuple[tuple[Fraction, Fraction], Fraction]]:
    edges = [Fraction(edge) for edge in h.edges_s.tolist()]
    return [((edges[k], edges[k + 1]), Fraction(mass)) for k, mass in enumerate(h.mass.tolist())]


def _share_between(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], lo: Fraction, hi: Fraction) -> Fraction:
    """P(lo <= B - A <= hi) for A and B uniform over `a` and `b`."""
    if a[0] == a[1] and b[0] == b[1]:
        return Fraction(lo - ATOM_TOLERANCE <= b[0] - a[0] <= hi + ATOM_TOLERANCE)
    if a[0] == a[1]:
        return _overlap(b, (a[0] + lo, a[0] + hi)) / (b[1] - b[0])
    if b[0] == b[1]:
        return _overlap(a, (b[0] - hi, b[0] - lo)) / (a[1] - a[0])
    area = (a[1] - a[0]) * (b[1] - b[0])
    return (_area_up_to(a, b, hi) - _area_up_to(a, b, lo)) / area


def _overlap(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction]) -> Fraction:
    return max(Fraction(0), min(a[1], b[1]) - max(a[0], b[0]))


def _area_up_to(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], x: Fraction) -> Fraction:
    """Area of the part of the rectangle a x b where B - A <= x: triangles, by inclusion and exclusion."""

    def triangle(side: Fraction) -> Fraction:
        return max(Fraction(0), side) ** 2 / 2

    return (
        triangle(x - (b[0] - a[1]))
        - triangle(x - (b[0] - a[0]))
        - triangle(x - (b[1] - a[1]))
        + triangle(x - (b[1] - a[0]))
    )
