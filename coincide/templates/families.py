"""Families of templates: a Gaussian error or a latency as edges and masses, and parameters on a grid of few digits."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_number
from coincide.errors import HistogramError
from coincide.templates.bucket_checks import refuse_unless_count_of_buckets

FURTHEST_SIGMA = 4.0


def normal_buckets(sigma_s: float, buckets: int) -> tuple[FloatArray, FloatArray]:
    """Return edges and masses of a Gaussian error of standard deviation `sigma_s`, over +-4 sigma."""
    if not is_number(sigma_s) or not sigma_s > 0:
        raise HistogramError("sigma_s", sigma_s, "a finite number of seconds above 0")
    refuse_unless_count_of_buckets(buckets)
    edges_sigma = np.linspace(-FURTHEST_SIGMA, FURTHEST_SIGMA, buckets + 1)
    mass = np.diff([NormalDist().cdf(edge) for edge in edges_sigma])
    return edges_sigma * sigma_s, mass / mass.sum()


def latency_buckets(latency: Iterable[tuple[float, float, float]]) -> tuple[list[float], list[float]]:
    """Return edges and masses of (occurrence - reported time) from adjacent (shortest_s, longest_s, mass)."""
    allowed = "adjacent buckets (shortest_s, longest_s, mass), three numbers each"
    if not isinstance(latency, Iterable):
        raise HistogramError("latency", latency, allowed)
    rows = [tuple(bucket) if isinstance(bucket, Iterable) else bucket for bucket in latency]
    if not rows:
        raise HistogramError("latency", rows, "at least one bucket")
    for row in rows:
        if not isinstance(row, tuple) or len(row) != 3 or not all(map(is_number, row)):
            raise HistogramError("latency", row, allowed)
    for earlier, later in pairwise(rows):
        if earlier[1] != later[0]:
            raise HistogramError("latency", (earlier, later), "each bucket starts where the last one ends")
    edges = [row[0] for row in rows[:1]] + [row[1] for row in rows]
    return [-edge for edge in reversed(edges)], [row[2] for row in reversed(rows)]


def rounded_up(x: float, digits: int) -> float:
    """Return the least number of so many significant decimal digits, 1 to 15, that is at least x, which is above 0.

    A standard deviation of 3 digits, say, is at most 1 % greater than it was, never smaller, and has 900 values in each
    decade: templates made from it stay few, and what is computed for their pairs is used again. Everything after
    that is exact for the rounded value.

    >>> rounded_up(1.2301, 3), rounded_up(0.998, 2), rounded_up(250, 3)
    (1.24, 1.0, 250.0)
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 15:
        raise HistogramError("digits", digits, "a whole number from 1 to 15")
    if not is_number(x) or not x > 0:
        raise HistogramError("x", x, "a finite number above 0")
    exact = Decimal(repr(float(x)))  # as it is written: 0.1 has one digit
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return float((exact / step).to_integral_value(ROUND_CEILING) * step)
