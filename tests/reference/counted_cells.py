"""P(every window holds at once) for independent histogram timestamps: any graph, exact, by counting cells.

All edges, times and bounds are whole multiples of one unit. Cut every template into cells of one unit: inside its cell
X = cell + fraction, all fractions independent and uniform. X_b - X_a <= c then says: the cells differ by less than c,
or by c and b's fraction is not above a's. So a choice of one cell each is settled by the order of the fractions, and
all k! orders are equally likely. An atom has the fraction 0, below all others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

from coincide import Histogram, Window
from tests.reference.pair_probability import in_us

SlidingWindows = Mapping[tuple[int, int], Window]
"""Window of X_b - X_a by the positions (a, b) of the two members."""
Cells = list[tuple[int, bool, Fraction]]
"""First unit, whether it is spread over a unit (or an atom), mass."""

MOST_CHOICES = 1_000_000  # of one cell each


def joint_probability(
    templates: Sequence[Histogram], detected_at_us: Sequence[int], windows: SlidingWindows
) -> Fraction:
    """P that the members' occurrences satisfy all windows, closed."""
    relative_us = tuple(time_us - detected_at_us[0] for time_us in detected_at_us)
    return _joint_probability(tuple(templates), relative_us, tuple((*pair, window) for pair, window in windows.items()))


@lru_cache(maxsize=100_000)
def _joint_probability(
    templates: tuple[Histogram, ...], detected_at_us: tuple[int, ...], windows: tuple[tuple[int, int, Window], ...]
) -> Fraction:
    bounds = [(a, b, in_us(window.lo_s), in_us(window.hi_s)) for a, b, window in windows]
    edges = [
        [at + in_us(edge) for edge in template.edges_s.tolist()]
        for template, at in zip(templates, detected_at_us, strict=True)
    ]
    unit = _greatest_unit(
        [*(lo for *_, lo, _ in bounds), *(hi for *_, hi in bounds), *(edge for own in edges for edge in own)]
    )
    if math.prod(len(own) + (own[-1] - own[0]) / unit for own in edges) > MOST_CHOICES:
        raise ValueError(f"cells of {unit} us are too many to count")
    cells = [_cells(own, template.mass.tolist(), unit) for own, template in zip(edges, templates, strict=True)]
    in_units = [(a, b, int(lo / unit), int(hi / unit)) for a, b, lo, hi in bounds]
    return _weighed(_satisfied_orders(cells, in_units), cells) / math.factorial(len(templates))


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
            holds &= _at_most(starts[b] - starts[a], fraction[b] <= fraction[a], hi)
            holds &= _at_most(starts[a] - starts[b], fraction[a] <= fraction[b], -lo)
        orders += holds
    return orders


def _at_most(
    cells_apart: npt.NDArray[np.int64], is_fraction_not_above: npt.NDArray[np.bool_], most: int
) -> npt.NDArray[np.bool_]:
    holds: npt.NDArray[np.bool_] = (cells_apart < most) | ((cells_apart == most) & is_fraction_not_above)
    return holds


def _weighed(orders: npt.NDArray[np.int64], cells: list[Cells]) -> Fraction:
    """Sum over all choices of cells: orders times the product of the masses, in whole numbers."""
    total, scale = orders.astype(object), 1
    for own in reversed(cells):
        denominator = math.lcm(*(mass.denominator for *_, mass in own))
        total = total @ np.array([int(mass * denominator) for *_, mass in own], dtype=object)
        scale *= denominator
    return Fraction(int(total), scale)


def simulated_probability(
    templates: Sequence[Histogram], detected_at_us: Sequence[int], windows: SlidingWindows, draws: int, seed: int = 0
) -> float:
    """Share of `draws` random occurrences that satisfy all windows; off by about sqrt(P (1 - P) / draws)."""
    random = np.random.default_rng(seed)
    occurred_s = [
        (at - detected_at_us[0]) / 1e6 + np.asarray(template.quantile(random.random(draws)))
        for template, at in zip(templates, detected_at_us, strict=True)
    ]
    holds = np.ones(draws, dtype=bool)
    for (a, b), window in windows.items():
        apart_s = occurred_s[b] - occurred_s[a]
        holds &= (window.lo_s <= apart_s) & (apart_s <= window.hi_s)
    return float(holds.mean())
