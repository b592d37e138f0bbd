"""The slow twin of coincide.clocks: the probability at exact offsets of the clocks, integrated in fractions.

Edges and reported times are whole seconds. Then the probability that all windows hold is, as a function of a clock's
offset, a polynomial between whole seconds. Its degree is at most the number of members, so five points of each second
settle it for up to four members (Newton and Cotes). As a function of the offsets of two clocks it also bends where
these are whole seconds apart. So each square of a second is cut along its diagonal, and 21 points settle each half. All
lie inside, as exact times make it jump at the ends, and are eighths of a second: whole microseconds.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import prod

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
    """P that all windows hold; each template is what is left within the member's clock, or all if it is on none.

    At most two clocks.
    """
    total = Fraction(0)
    for offsets_us, weight in _points(errors):
        moved = [at + (offsets_us[own] if own != NO_CLOCK else 0) for at, own in zip(at_us, clocks, strict=True)]
        total += weight * graph_probability(graph, templates, moved)
    return total


def _points(errors: Sequence[Histogram]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Yield offsets of all clocks, and the weight of each."""
    for pieces in product(*map(_pieces, errors)):
        spread = [is_spread for _, is_spread, _ in pieces]
        share = prod((share for *_, share in pieces), start=Fraction(1))
        for inside, weight in _square() if spread == [True, True] else _lines(spread):
            yield (
                tuple(start * 10**6 + at * EIGHTH_US for (start, *_), at in zip(pieces, inside, strict=True)),
                (share * weight),
            )


def _pieces(error: Histogram) -> list[tuple[int, bool, Fraction]]:
    """Return whole seconds: where each begins, whether it is one or no time at all, and its share."""
    pieces = []
    mass_of_all = sum(map(Fraction, error.mass.tolist()))
    for (start, end), mass in zip(pairwise(error.edges_s.tolist()), error.mass.tolist(), strict=True):
        share = Fraction(mass) / mass_of_all
        if start == end:
            pieces.append((int(start), False, share))
        pieces += [(second, True, share / int(end - start)) for second in range(int(start), int(end))]
    return pieces


def _lines(spread: Sequence[bool]) -> list[tuple[tuple[int, ...], Fraction]]:
    """Return points, in eighths, where at most one clock may be anywhere in its second."""
    assert sum(spread) < 2
    of_second = list(zip(EIGHTHS, _weights(), strict=True))
    of_all = product(*(of_second if each else [(0, Fraction(1))] for each in spread))
    return [(tuple(at for at, _ in each), prod((weight for _, weight in each), start=Fraction(1))) for each in of_all]


@cache
def _square() -> list[tuple[tuple[int, ...], Fraction]]:
    """Return points, in eighths, that integrate what is a polynomial of degree 5 on each side of the diagonal."""
    below = [(x, y) for x in range(1, 8) for y in range(1, x)]
    powers = [(p, q) for p in range(6) for q in range(6 - p)]
    rows = [[Fraction(x, 8) ** p * Fraction(y, 8) ** q for x, y in below] for p, q in powers]
    integrals = [Fraction(1, (q + 1) * (p + q + 2)) for p, q in powers]  # of x^p y^q over 0 < y < x < 1
    weights = list(zip(below, _solved(rows, integrals), strict=True))
    return [*weights, *(((y, x), weight) for (x, y), weight in weights)]


def _solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve linear equations (Gauss and Jordan)."""
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for column in range(len(table)):
        pivot = next(row for row in range(column, len(table)) if table[row][column])
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [each / table[column][column] for each in table[column]]
        for row in set(range(len(table))) - {column}:
            factor = table[row][column]
            table[row] = [a - factor * b for a, b in zip(table[row], table[column], strict=True)]
    return [row[-1] for row in table]


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
