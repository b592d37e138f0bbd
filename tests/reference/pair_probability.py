"""P(lo <= Xb - Xa <= hi) for two histogram timestamps in decimals, bucket against bucket, in microseconds.

Decimal seconds are read as they were written (0.3 s is 300000 us exactly), so that ties of exact times are decided as
a person would decide them.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from tests.reference.difference import Number, share_between

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
            part, whole = share_between((a0, a1), (b0, b1), lo_us - offset_us, hi_us - offset_us)
            total += a_mass * b_mass * part / whole
    return total
