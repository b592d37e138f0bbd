"""P(every window holds at once) for independent histogram timestamps: any graph, exact, by counting cells.

All edges, times and bounds, taken as the floats that they are, are whole multiples of one unit. Cut every template into
cells of one unit: inside its cell X = cell + fraction, all fractions independent and uniform. X_b - X_a <= c then says:
the cells differ by less than c, or by c and b's fraction is not above a's. So a choice of one cell each is settled by
the order of the fractions, and all k! orders are equally likely. An atom has the fraction 0, below all others.

Source: the simplices of an alcoved polytope (Lam, Postnikov: Alcoved Polytopes I, 2007).
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

from coincide import ConstraintGraph, Histogram, Window

WindowsByPair = Mapping[tuple[int, int], Window]  # of X_b - X_a, by the positions (a, b) of the two members
Cells = list[tuple[int, bool, Fraction]]  # first unit, whether it is spread over a unit (or an atom), mass
MOST_CHOICES = 1_000_000  # of one cell each


def graph_probability(graph: ConstraintGraph, templates: Sequence[Histogram], at_us: Sequence[int]) -> Fraction:
    """P that the occurrences of members in the order of the graph's roles satisfy all its windows."""
    place = graph.roles.index
    return joint_probability(templates, at_us, {(place(edge.a), place(edge.b)): edge.window for edge in graph.edges})


def joint_probability(
    templates: Sequence[Histogram], detected_at_us: Sequence[int], windows: WindowsByPair
) -> Fraction:
    """P that the members' occurrences satisfy all windows, closed."""
    relative_us = tuple(time_us - detected_at_us[0] for time_us in detected_at_us)
    return _joint_probability(tuple(templates), relative_us, tuple((*pair, window) for pair, window in windows.items()))


@lru_cache(maxsize=100_000)
def _joint_probability(
    templates: tuple[Histogram, ...], detected_at_us: tuple[int, ...], windows: tuple[tuple[int, int, Window], ...]
) -> Fraction:
    bounds = [(a, b, _in_us(window.lo_s), _in_us(window.hi_s)) for a, b, window in windows]
    placed = zip(templates, detected_at_us, strict=True)
    edges = [[at + _in_us(edge) for edge in template.edges_s.tolist()] for template, at in placed]
    unit = _greatest_unit(
        [*(end for *_, lo, hi in bounds for end in (lo, hi)), *(edge for own in edges for edge in own)]
    )
    if math.prod(len(own) + (own[-1] - own[0]) / unit for own in edges) > MOST_CHOICES:
        raise ValueError(f"cells of {unit} us are too many to count")
    cells = [_cells(own, template.mass.tolist(), unit) for own, template in zip(edges, templates, strict=True)]
    in_units = [(a, b, int(lo / unit), int(hi / unit)) for a, b, lo, hi in bounds]
    return _weighed(_satisfied_orders(cells, in_units), cells) / math.factorial(len(templates))


def _in_us(seconds: float) -> Fraction:
    return Fraction(seconds) * 10**6


def _greatest_unit(times_us: list[Fraction]) -> Fraction:
    """Return the greatest time of which all are multiples; 1 us if all are 0."""
    denominator = math.lcm(*(time_us.denominator for time_us in times_us))
    return Fraction(math.gcd(*(int(time_us * denominator) for time_us in times_us)), denominator) or Fraction(1)


def _cells(edges_us: list[Fraction], masses: list[float], unit: Fraction) -> Cells:
    found = []
    for (start_us, end_us), mass in zip(pairwise(edges_us), masses, strict=True):
        start, units = int(start_us / unit), int((end_us - start_us) / unit)
        if not units:
            found.append((start, False, Fraction(mass)))
        found += [(start + n, True, Fraction(mass) / units) for n in range(units)]
    total = sum((mass for *_, mass in found), Fraction(0))
    return [(start, is_spread, mass / total) for start, is_spread, mass in found if mass]


def _satisfied_orders(cells: list[Cells], bounds: list[tuple[int, int, int, int]]) -> npt.NDArray[np.int64]:
    """In how many orders of the fractions each choice of cells satisfies all bounds, one axis a member."""
    starts = np.ix_(*(np.array([start for start, *_ in own]) for own in cells))
    spread = np.ix_(*(np.array([int(is_spread) for _, is_spread, _ in own]) for own in cells))
    orders = np.zeros([len(own) for own in cells], dtype=np.int64)
    for order in permutations(range(1, len(cells) + 1)):
        fraction = [place * is_spread for place, is_spread in zip(order, spread, strict=True)]
        holds = np.ones(orders.shape, dtype=bool)
        for a, b, lo, hi in bounds:
            apart = starts[b] - starts[a]
            holds &= (apart < hi) | ((apart == hi) & (fraction[b] <= fraction[a]))
            holds &= (apart > lo) | ((apart == lo) & (fraction[b] >= fraction[a]))
        orders += holds
    return orders


def _weighed(orders: npt.NDArray[np.int64], cells: list[Cells]) -> Fraction:
    """Sum over all choices of cells: orders times the product of the masses, in whole numbers."""
    total, scale = orders.astype(object), 1
    for own in reversed(cells):
        denominator = math.lcm(*(mass.denominator for *_, mass in own))
        total = total @ np.array([int(mass * denominator) for *_, mass in own], dtype=object)
        scale *= denominator
    return Fraction(int(total), scale)
