"""The slow twin of coincide.probability.onset: polynomials with fractions for coefficients, one piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, zip_longest

from coincide import Histogram, Window

NANOSECOND = Fraction(1, 10**9)  # an atom within 1 ns of a bound lies on it

Polynomial = list[Fraction]  # coefficients, lowest first


@dataclass(frozen=True)
class Event:
    """Buckets (start, end, mass) in seconds on a common clock; an atom starts where it ends."""

    buckets: list[tuple[Fraction, Fraction, Fraction]]

    @classmethod
    def of(cls, template: Histogram, detected_at_us: int) -> Event:
        at = Fraction(detected_at_us, 10**6)
        edges = [at + Fraction(edge) for edge in template.edges_s.tolist()]
        return cls(list(zip(edges[:-1], edges[1:], map(Fraction, template.mass.tolist()), strict=True)))

    def density(self, t: Fraction) -> Fraction:
        return sum((mass / (end - start) for start, end, mass in self.buckets if start < t < end), Fraction(0))

    def between(self, lo: Fraction, hi: Fraction, slack: Fraction = Fraction(0), *, after: bool = False) -> Fraction:
        """P(lo <= X <= hi), atoms judged with some slack; `after`: those at lo do not count."""
        total = Fraction(0)
        for start, end, mass in self.buckets:
            if end > start:
                total += mass * max(Fraction(0), min(end, hi) - max(start, lo)) / (end - start)
            elif (start - lo > slack if after else start - lo >= -slack) and start - hi <= slack:
                total += mass
        return total


class ExactPosterior:
    """The density of when a match occurred, not normalised: polynomials between break points, and atoms."""

    def __init__(self, templates: Sequence[Histogram], detected_at_us: Sequence[int], window: Window) -> None:
        self.events = [Event.of(u, at) for u, at in zip(templates, detected_at_us, strict=True)]
        self.symmetric = window.is_symmetric
        self.anchors = range(len(self.events) if self.symmetric else 1)
        self.lo = Fraction(0) if self.symmetric else Fraction(window.lo_s)
        self.hi = Fraction(window.hi_s)
        edges = {edge for event in self.events for start, end, _ in event.buckets for edge in (start, end)}
        breaks = sorted({edge - by for edge in edges for by in (Fraction(0), self.lo, self.hi)})
        self.pieces = [(a, b, self._polynomial(a, b)) for a, b in pairwise(breaks)]
        self.atoms = self._atoms()
        self.mass = self._moment(0)
        self.mean = self._moment(1) / self.mass if self.mass else Fraction(0)
        self.variance = self._moment(2) / self.mass - self.mean**2 if self.mass else Fraction(0)

    def up_to(self, t: Fraction) -> Fraction:
        """Mass of all times up to t."""
        spread = sum((_integral(density, a, min(b, t)) for a, b, density in self.pieces if a < t), Fraction(0))
        return spread + sum((mass for at, mass in self.atoms if at <= t), Fraction(0))

    def _polynomial(self, a: Fraction, b: Fraction) -> Polynomial:
        total: Polynomial = []
        for anchor in self.anchors:
            term = [self.events[anchor].density((a + b) / 2)]
            for other, event in enumerate(self.events):
                if other != anchor and term != [0]:
                    third = (2 * a + b) / 3
                    fits = [event.between(t + self.lo, t + self.hi) for t in (third, (a + 2 * b) / 3)]
                    slope = (fits[1] - fits[0]) / ((b - a) / 3)
                    term = _product(term, [fits[0] - slope * third, slope])
            total = [p + q for p, q in zip_longest(total, term, fillvalue=Fraction(0))]
        return total

    def _atoms(self) -> list[tuple[Fraction, Fraction]]:
        found = []
        for anchor in self.anchors:
            for at, end, mass in self.events[anchor].buckets:
                if at == end and mass:
                    for other, event in enumerate(self.events):
                        if other != anchor:
                            after = self.symmetric and other < anchor
                            mass *= event.between(at + self.lo, at + self.hi, NANOSECOND, after=after)  # noqa: PLW2901
                    found.append((at, mass))
        return found

    def _moment(self, power: int) -> Fraction:
        spread = sum((_integral([Fraction(0)] * power + density, a, b) for a, b, density in self.pieces), Fraction(0))
        return spread + sum((mass * at**power for at, mass in self.atoms), Fraction(0))


def _product(p: Polynomial, q: Polynomial) -> Polynomial:
    result = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            result[i + j] += a * b
    return result


def _integral(density: Polynomial, a: Fraction, b: Fraction) -> Fraction:
    return sum((c * (b ** (n + 1) - a ** (n + 1)) / (n + 1) for n, c in enumerate(density) if c), Fraction(0))
