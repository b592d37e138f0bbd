"""P(all windows hold at once), exact and slow, for templates, times and windows on a grid of whole units.

The independent twin of ``coincide.probability.joint.probability``: no integrals, it counts. A member that is
uniform over some units lies in each of them equally often, at a whole number n and a fraction u in (0, 1), uniform
too; an exact time has the fraction 0. Whether

    lo <= (n_b + u_b) - (n_a + u_a) <= hi

holds for whole lo and hi is a matter of n_b - n_a and of which fraction is greater. So within one combination of
units the probability is the share of the k! orders of k fractions at which every window holds.

Source: the simplices of an alcoved polytope (Lam, Postnikov: Alcoved Polytopes I, 2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product

from coincide import ConstraintGraph, Histogram, Window


@dataclass(frozen=True)
class Unit:
    """Where a member may be: in one unit of the grid, or exactly where it starts."""

    start: int
    is_exact: bool
    mass: Fraction


@dataclass(frozen=True)
class Constraint:
    """lo <= t_b - t_a <= hi, in units."""

    a: int
    b: int
    lo: int
    hi: int

    def holds(self, apart: int, order: int) -> bool:
        """Judge whole numbers `apart`, b's fraction less than (-1), equal to (0) or greater than (1) that of a."""
        above_lo = apart > self.lo or (apart == self.lo and order >= 0)
        below_hi = apart < self.hi or (apart == self.hi and order <= 0)
        return above_lo and below_hi


def joint_probability(
    graph: ConstraintGraph, templates: Sequence[Histogram], detected_at_us: Sequence[int], unit_s: Fraction
) -> Fraction:
    """Return the probability for one tuple; every edge, time and window must be a whole number of units."""
    members = [list(_units(*each, unit_s)) for each in zip(templates, detected_at_us, strict=True)]
    constraints = [_constraint(graph, edge.a, edge.b, edge.window, unit_s) for edge in graph.edges]
    total = sum((unit.mass for own in members for unit in own), Fraction(0))
    assert abs(total - len(members)) < Fraction(1, 10**12)
    return sum((_combination(units, constraints) for units in product(*members)), Fraction(0))


def _combination(units: Sequence[Unit], constraints: Sequence[Constraint]) -> Fraction:
    near = [c for c in constraints if not all(c.holds(units[c.b].start - units[c.a].start, order) for order in (-1, 1))]
    for c in near:
        apart = units[c.b].start - units[c.a].start
        if not any(c.holds(apart, order) for order in (-1, 0, 1)):
            return Fraction(0)
    mass = Fraction(1)
    for unit in units:
        mass *= unit.mass
    return mass * _share_of_orders(units, near)


def _share_of_orders(units: Sequence[Unit], constraints: Sequence[Constraint]) -> Fraction:
    spread = sorted({i for c in constraints for i in (c.a, c.b) if not units[i].is_exact})
    orders = list(permutations(range(1, len(spread) + 1)))
    good = 0
    for order in orders:
        rank = dict(zip(spread, order, strict=True))  # exact times have fraction 0, the least
        good += all(
            c.holds(units[c.b].start - units[c.a].start, _sign(rank.get(c.b, 0) - rank.get(c.a, 0)))
            for c in constraints
        )
    return Fraction(good, len(orders))


def _units(template: Histogram, detected_at_us: int, unit_s: Fraction) -> Iterator[Unit]:
    at = Fraction(detected_at_us, 10**6)
    edges = [_whole((at + Fraction(edge)) / unit_s) for edge in template.edges_s.tolist()]
    for start, end, mass in zip(edges[:-1], edges[1:], map(Fraction, template.mass.tolist()), strict=True):
        if mass and start == end:
            yield Unit(start, is_exact=True, mass=mass)
        elif mass:
            yield from (Unit(n, is_exact=False, mass=mass / (end - start)) for n in range(start, end))


def _constraint(graph: ConstraintGraph, a: str, b: str, window: Window, unit_s: Fraction) -> Constraint:
    lo, hi = (_whole(Fraction(end) / unit_s) for end in (window.lo_s, window.hi_s))
    return Constraint(graph.roles.index(a), graph.roles.index(b), lo, hi)


def _whole(units: Fraction) -> int:
    assert units.denominator == 1
    return units.numerator


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
