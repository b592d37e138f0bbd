"""P(lo <= Xb - Xa <= hi) for two histogram timestamps, straight from the definition and slow.

The independent twin of ``coincide.probability.difference`` shares no code with it: it integrates bucket against
bucket.
For one bucket of each, with u uniform on [a0, a1] and v uniform on [b0, b1],

    P(v - u <= x) = 1/(a1 - a0) * integral over u of clamp((x + u - b0) / (b1 - b0), 0, 1)
                  = (G(x + a1) - G(x + a0)) / (a1 - a0)

where G, the running integral of the clamp, is 0 before b0, a parabola up to b1 and a straight line after it.
Everything is in microseconds.  Decimal seconds are read as the decimals they were written as (0.3 s is 300000 us
exactly), so that ties of exact times are decided as a person would decide them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

Number: TypeAlias = Fraction | float
Bucket: TypeAlias = tuple[Number, Number, Number]
"""start_us, end_us, mass."""


@dataclass(frozen=True)
class Template:
    """Distribution of (occurrence - reported time): ``len(mass) + 1`` edges in seconds; equal edges are an atom."""

    edges_s: tuple[float, ...]
    mass: tuple[float, ...]

    @property
    def exact(self) -> list[Bucket]:
        """The buckets in microseconds as fractions, their masses summing to exactly 1."""
        total = sum(map(Fraction, self.mass))
        edges_us = [in_us(edge_s) for edge_s in self.edges_s]
        return [
            (start, end, Fraction(mass) / total)
            for (start, end), mass in zip(pairwise(edges_us), self.mass, strict=True)
            if mass > 0
        ]

    @property
    def reach_us(self) -> tuple[Fraction, Fraction]:
        """Where the distribution begins and ends."""
        buckets = self.exact
        return Fraction(buckets[0][0]), Fraction(buckets[-1][1])


def in_us(seconds: float) -> Fraction:
    """Return decimal seconds as exact microseconds: 0.3 is 300000, not 299999.99999999998889776975."""
    return Fraction(repr(float(seconds))) * 1_000_000


def rounded(buckets: list[Bucket]) -> list[Bucket]:
    """Return the same buckets in floating point, hundreds of times faster and good to about 1e-12."""
    return [(float(start), float(end), float(mass)) for start, end, mass in buckets]


def pair_probability(u: list[Bucket], v: list[Bucket], offset_us: int, lo_us: Number, hi_us: Number) -> Number:
    """Return P(lo <= Xb - Xa <= hi), both ends closed, where Xb - Xa = offset + V - U."""
    total: Number = 0
    for a0, a1, a_mass in u:
        for b0, b1, b_mass in v:
            low, high = lo_us - offset_us, hi_us - offset_us
            total += a_mass * b_mass * _bucket_probability(a0, a1, b0, b1, low, high)
    return total


def _bucket_probability(a0: Number, a1: Number, b0: Number, b1: Number, low: Number, high: Number) -> Number:
    """P(low <= v - u <= high) for u uniform on [a0, a1] and v uniform on [b0, b1]; either may be an atom."""
    if b1 - a0 < low or b0 - a1 > high:
        return 0
    if a0 == a1 and b0 == b1:
        return 1  # the test above already said that the one possible difference lies in the closed window
    if a0 == a1:
        return _share(b0, b1, low + a0, high + a0)
    if b0 == b1:
        return _share(a0, a1, b0 - high, b0 - low)
    return _below(high, a0, a1, b0, b1) - _below(low, a0, a1, b0, b1)


def _share(start: Number, end: Number, low: Number, high: Number) -> Number:
    """How much of [start, end] lies in [low, high]."""
    return max(min(end, high) - max(start, low), 0) / (end - start)


def _below(x: Number, a0: Number, a1: Number, b0: Number, b1: Number) -> Number:
    """P(v - u <= x) for two buckets that both have length."""
    return (_running(x + a1, b0, b1) - _running(x + a0, b0, b1)) / (a1 - a0)


def _running(z: Number, b0: Number, b1: Number) -> Number:
    """The integral of clamp((t - b0) / (b1 - b0), 0, 1) for t up to z."""
    if z <= b0:
        return 0
    if z >= b1:
        return (b1 - b0) / 2 + (z - b1)
    return (z - b0) * (z - b0) / (2 * (b1 - b0))
