"""The slow twin of coincide.clocks: the probability at exact offsets of the clocks, integrated in fractions.

Edges and reported times are whole seconds. Then the probability that all windows hold is, as a function of a clock's
offset, a polynomial between whole seconds. Its degree is at most the number of members, so five points of each second
settle it for up to four members (Newton and Cotes). They lie inside, as exact times make it jump at whole seconds, and
are eighths of a second: whole microseconds.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise

from coincide import ConstraintGraph, Histogram
from tests.reference.counted_cells import graph_probability

EIGHTHS = (1, 2, 4, 6, 7)
EIGHTH_US = 125_000
NO_CLOCK = -1


def joint_on_clocks(
    graph: ConstraintGraph,
    templates: Sequence[Histogram],
    at_us: Sequence[int],
    clocks: Sequence[int],
    errors: Sequence[Histogram],
) -> Fraction:
    """P that all windows hold; each template is what is left within the member's clock, or all if it is on none."""
    return _over_clocks(graph, templates, list(at_us), clocks, list(enumerate(errors)))


def _over_clocks(
    graph: ConstraintGraph,
    templates: Sequence[Histogram],
    at_us: list[int],
    clocks: Sequence[int],
    errors: list[tuple[int, Histogram]],
) -> Fraction:
    if not errors:
        return graph_probability(graph, templates, at_us)
    (clock, error), *left = errors
    total = Fraction(0)
    for offset_us, weight in _points(error):
        moved = [at + offset_us if own == clock else at for at, own in zip(at_us, clocks, strict=True)]
        total += weight * _over_clocks(graph, templates, moved, clocks, left)
    return total


def _points(error: Histogram) -> list[tuple[int, Fraction]]:
    """Return offsets of a clock, and the weight of each."""
    points = []
    mass_of_all = sum(map(Fraction, error.mass.tolist()))
    for (start, end), mass in zip(pairwise(error.edges_s.tolist()), error.mass.tolist(), strict=True):
        share = Fraction(mass) / mass_of_all
        if start == end:
            points.append((int(start) * 10**6, share))
        for second in range(int(start), int(end)):
            for eighth, weight in zip(EIGHTHS, _weights(), strict=True):
                points.append((second * 10**6 + eighth * EIGHTH_US, share * weight / int(end - start)))
    return points


@cache
def _weights() -> list[Fraction]:
    """Return the weights with which the points integrate polynomials of degree 4 over [0, 1] exactly."""
    at = [Fraction(eighth, 8) for eighth in EIGHTHS]
    return [_integral_of_product([other for other in at if other != own], own) for own in at]


def _integral_of_product(roots: list[Fraction], at: Fraction) -> Fraction:
    """Return the integral over [0, 1] of the polynomial with these roots that is 1 at a point (Lagrange)."""
    coefficients = [Fraction(1)]  # lowest first
    for root in roots:
        shifted = [Fraction(0), *coefficients]
        coefficients = [a - root * b for a, b in zip(shifted, [*coefficients, Fraction(0)], strict=True)]
    value = sum(c * at**n for n, c in enumerate(coefficients))
    return sum((c / (n + 1) for n, c in enumerate(coefficients)), Fraction(0)) / value


def sum_cdf(own: Histogram, clock: Histogram, time_s: float) -> Fraction:
    """P that the sum of two independent errors is at most a time: an area for each pair of buckets."""
    total, masses = Fraction(0), Fraction(0)
    for a, b, mass in _buckets(own):
        for c, d, other in _buckets(clock):
            total += mass * other * _share_below(Fraction(time_s) - a - c, *sorted((b - a, d - c)))
            masses += mass * other
    return total / masses


def _buckets(histogram: Histogram) -> list[tuple[Fraction, Fraction, Fraction]]:
    edges = [Fraction(edge) for edge in histogram.edges_s.tolist()]
    return list(zip(edges[:-1], edges[1:], map(Fraction, histogram.mass.tolist()), strict=True))


def _share_below(time: Fraction, short: Fraction, long: Fraction) -> Fraction:
    """P(U short + V long <= time) for uniform U and V from 0 to 1."""
    if long == 0:
        return Fraction(time >= 0)
    if short == 0:
        return min(max(time / long, Fraction(0)), Fraction(1))
    area = sum(
        sign * max(time - corner, Fraction(0)) ** 2
        for corner, sign in ((Fraction(0), 1), (short, -1), (long, -1), (short + long, 1))
    )
    return area / (2 * short * long)
