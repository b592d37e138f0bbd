"""Cliques of four, each pair with a window of its own: two members are integrated over, two judged in closed form.

Let a be at t and b at s. Then c has to lie in [x0, x1] and d in [y0, y1]. Each end is the later or earlier of two: one
so much after t, one so much after s. Let F be the mass of a member up to a time, A_e(x) the integral up to x of
f_c(z) F_d(z + e) dz, and p_e = y0 - e and q_e = y1 - e, both moved into [x0, x1]. The chance that c and d fit is

    R = A_hi(q_hi) - A_hi(p_hi) - A_lo(q_lo) + A_lo(p_lo)
        - F_d(y1) (F_c(q_hi) - F_c(q_lo)) + F_d(y0) (F_c(p_hi) - F_c(p_lo))

Which end counts depends on s - t alone, and changes at a few values of it, the same for all tuples of a graph. Between
two of them each term is a function of t times one of s. What is left of it is one exact integral over t, or over s.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, pairwise, product
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.probability.joint.member_links import Links, Reach
from coincide.probability.joint.placed_members import Estimate, PlacedMember, Plan, estimated_in_steps
from coincide.probability.joint.running import Running, integrals

ELEMENTS_PER_STEP = 262_144  # knots of all integrals times tuples
MOST_ROUNDING = 1e-13  # of a probability: the longest time, rounded, times the greatest density
A, B, C, D = range(4)


class End(NamedTuple):
    """A time so much after that of `of`, which is A or B."""

    of: int
    after_s: float


class Function(NamedTuple):
    """The mass of a member up to a time, if there is one weighted with that of another so much later."""

    member: int
    weight: int | None = None
    later_s: float = 0.0


Factors = tuple[tuple[Function, End], ...]


class Term(NamedTuple):
    """A product of functions at ends, while b is between so much and so much after a."""

    factors: Factors
    sign: int
    from_s: float
    to_s: float

    def goes_on(self, after: Term) -> bool:
        """Whether `after` is the same, and starts where this one ends."""
        return (self.factors, self.sign, self.to_s) == after[:3]


Windows = Sequence[Sequence[Reach]]
"""The window of each two members, by their numbers from 0 to 3; of one with itself it is (0, 0)."""


def closed(windows: Windows) -> Windows | None:
    """Return windows none of which is wider than the others leave it; None where nothing fits."""
    everyone = range(4)
    most = [[to_s for _, to_s in own] for own in windows]
    for via, i, j in product(everyone, repeat=3):
        most[i][j] = min(most[i][j], most[i][via] + most[via][j])
    if any(most[i][i] < 0 for i in everyone):
        return None
    return [[(-most[j][i], most[i][j]) for j in everyone] for i in everyone]


def terms_of(windows: Windows, order: Sequence[int]) -> list[Term]:
    """Return all terms of R with the members as a, b, c and d in an order, and when each counts."""
    a, b, c, d = order
    bounds = [[End(A, windows[a][to][side]), End(B, windows[b][to][side])] for to in (c, d) for side in (0, 1)]
    apart_s, least_s, most_s = windows[c][d], *windows[a][b]
    ends = {End(of, after_s - less_s) for own in bounds for of, after_s in own for less_s in (0.0, *apart_s)}
    turns_s = {x.after_s - y.after_s for x in ends for y in ends if (x.of, y.of) == (A, B)}
    terms: list[Term] = []
    for from_s, to_s in pairwise(sorted({least_s, most_s, *(each for each in turns_s if least_s < each < most_s)})):
        for factors, sign in _factors(bounds, apart_s, (from_s + to_s) / 2).items():
            here = Term(factors, sign, from_s, to_s)
            before = next((n for n, each in enumerate(terms) if each.goes_on(here)), None)
            if before is None:
                terms.append(here)
            else:
                terms[before] = terms[before]._replace(to_s=to_s)
    return terms


def _factors(bounds: list[list[End]], apart_s: Reach, b_after_a_s: float) -> dict[Factors, int]:
    """Return the products in R, and how often each counts, where b is so much after a."""

    def after_a_s(end: End) -> Fraction:  # unrounded: beside a far end two that are near each other would look equal
        return Fraction(end.after_s) + (Fraction(b_after_a_s) if end.of == B else 0)

    x0, x1, y0, y1 = (pick(own, key=after_a_s) for pick, own in zip((max, min, max, min), bounds, strict=True))
    counted: Counter[Factors] = Counter()
    for e_s, sign in zip(apart_s, (-1, 1), strict=True):
        for y, of_y in ((y0, -sign), (y1, sign)):
            x = min(max(End(y.of, y.after_s - e_s), x0, key=after_a_s), x1, key=after_a_s)
            counted[((Function(C, D, e_s), x),)] += of_y
            counted[((Function(C), x), (Function(D), y))] -= of_y
    return {factors: sign for factors, sign in counted.items() if sign}


@dataclass(frozen=True)
class Integrals:
    """Terms with the same functions: the member integrated over, what is multiplied there, and what rises."""

    over: int
    factors: tuple[Function, ...]
    rises: Function
    shifts_s: FloatArray  # (factors, s)
    rise_s: FloatArray  # (2, s): from, to
    sign: FloatArray


def integrals_of(terms: Sequence[Term]) -> list[Integrals]:
    """Return the integrals that the terms come down to."""
    alike = defaultdict(list)
    for factors, sign, from_s, to_s in terms:
        over = B if all(end.of == B for _, end in factors) else A
        here = [each for each in factors if each[1].of == over]
        there = [Function(B, function.member, end.after_s) for function, end in factors if end.of != over]
        [rises] = there or [Function(B if over == A else A)]
        span_s = (from_s, to_s) if over == A else (-to_s, -from_s)
        functions, ends = zip(*here, strict=True)
        alike[over, functions, rises].append((*(end.after_s for end in ends), *span_s, sign))
    return [
        Integrals(*same, shifts_s=np.array(rows).T[:-3], rise_s=np.array(rows).T[-3:-1], sign=np.array(rows)[:, -1])
        for same, rows in alike.items()
    ]


@lru_cache(maxsize=256)
def layout(windows: tuple[tuple[Reach, ...], ...]) -> tuple[tuple[int, ...], list[Integrals]]:
    """Return the members as a, b, c and d, so that the fewest terms are left, and the integrals over these."""
    tight = closed(windows)
    if tight is None:
        return (A, B, C, D), []
    orders = [(*two, *(i for i in (A, B, C, D) if i not in two)) for two in combinations((A, B, C, D), 2)]
    _, order, terms = min((len(terms), order, terms) for order in orders for terms in [terms_of(tight, order)])
    return order, integrals_of(terms)


@dataclass(frozen=True)
class FourClique:
    """Four members, each tied to each, none of them with exact times.

    `otherwise` is the plan for tuples with times so far apart and buckets so short that floats are too coarse here.
    """

    links: Links
    otherwise: Plan
    is_exact = True

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """P(all windows hold), exact."""
        knots = sum(len(each.edges.high) for each in members.values())
        terms = sum(len(each.sign) for each in self._layout[1])
        return estimated_in_steps(members, max(1, ELEMENTS_PER_STEP // (2 * knots * (1 + terms))), self._step)

    def _step(self, members: Mapping[int, PlacedMember]) -> Estimate:
        placed = [members[i] for i in sorted(members)]
        origin = placed[0].edges.take(slice(0, 1))
        edges_s = [each.edges.minus(origin) for each in placed]
        in_rows = ((x.T.copy(), each.density.T.copy()) for x, each in zip(edges_s, placed, strict=True))
        estimate = Estimate.exact(self._sum([Running.mass(*each) for each in in_rows]))
        reach_s = np.max([np.abs(each).max(axis=0) for each in edges_s], axis=0)
        densest = np.max([each.density.max(axis=0) for each in placed], axis=0)
        coarse = np.flatnonzero(reach_s * densest * np.finfo(np.float64).eps > MOST_ROUNDING)
        if len(coarse):
            other = self.otherwise.estimate({i: each.take(coarse) for i, each in members.items()})
            estimate.value[coarse], estimate.radius[coarse] = other.value, other.radius
        return estimate

    def _sum(self, masses: Sequence[Running]) -> FloatArray:
        order, groups = self._layout
        own = [masses[i] for i in order]

        def function(each: Function) -> Running:
            mass = own[each.member]
            return mass if each.weight is None else mass.weighted(own[each.weight], each.later_s)

        total = np.zeros(len(own[A].knots_s))
        for each in groups:
            factors = [(function(one), later_s) for one, later_s in zip(each.factors, each.shifts_s, strict=True)]
            value = integrals(own[each.over], factors, (function(each.rises), *each.rise_s))
            for sign, one in zip(each.sign, value, strict=True):
                total += sign * one
        return np.maximum(total, 0.0)

    @cached_property
    def _layout(self) -> tuple[tuple[int, ...], list[Integrals]]:
        reach, everyone = self.links.reach, sorted(self.links.reach)
        return layout(tuple(tuple((0.0, 0.0) if i == j else reach[i][j] for j in everyone) for i in everyone))
