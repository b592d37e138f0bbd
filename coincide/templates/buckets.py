"""Buckets: edges and masses as given and checked, of a Gaussian error and of a latency; parameters of few digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_number, is_whole
from coincide.errors import HistogramError

MASS_TOLERANCE = 1e-6  # a sum further from 1 is a mistake, not rounding
SHORTEST_BUCKET_S = 1e-6  # time is counted in microseconds; what is shorter is an atom
FURTHEST_EDGE_S = 1e9
MOST_BUCKETS = 1000
FURTHEST_SIGMA = 4.0


def refuse_unless_count_of_buckets(buckets: object) -> None:
    """Refuse what is no whole number from 1 to 1000."""
    if not is_whole(buckets) or not 1 <= buckets <= MOST_BUCKETS:  # type: ignore[operator]
        raise HistogramError("buckets", buckets, f"a whole number from 1 to {MOST_BUCKETS}")


def _finite_floats(field: str, values: Sequence[float] | FloatArray) -> FloatArray:
    try:
        array = np.array(values)
    except ValueError:
        raise HistogramError(field, values, "a flat list of numbers") from None
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise HistogramError(field, values, "a flat list of numbers")
    floats = array.astype(np.float64)
    if not np.isfinite(floats).all():
        raise HistogramError(field, values, "finite numbers only")
    return floats


def checked_edges(edges_s: Sequence[float] | FloatArray) -> FloatArray:
    """Return the edges as floats if they are finite, in order and far enough apart."""
    edges = _finite_floats("edges_s", edges_s)
    if len(edges) < 2:
        raise HistogramError("edges_s", edges_s, "at least 2 edges")
    if np.abs(edges).max() > FURTHEST_EDGE_S:
        raise HistogramError("edges_s", edges_s, f"at most {FURTHEST_EDGE_S:g} s either way")
    length = np.diff(edges)
    if (length < 0).any():
        raise HistogramError("edges_s", edges_s, "in order, each at least the one before")
    # the small allowance is for edges like 0.1 + 1e-6, whose float difference is a hair below 1 us
    if ((length > 0) & (length < SHORTEST_BUCKET_S * (1 - 1e-6))).any():
        raise HistogramError("edges_s", edges_s, "neighbours equal (an atom) or at least 1 us apart")
    return edges


def checked_mass(mass: Sequence[float] | FloatArray, buckets: int) -> FloatArray:
    """Return the masses as floats if they are one for each bucket, at least 0 and sum to 1."""
    masses = _finite_floats("mass", mass)
    if len(masses) != buckets:
        raise HistogramError("mass", mass, f"one for each bucket: {buckets} for {buckets + 1} edges")
    if ((masses < 0) | (masses > 1 + MASS_TOLERANCE)).any():  # and no sum is beyond what a float holds
        raise HistogramError("mass", mass, "from 0 to 1 each")
    if abs(math.fsum(masses) - 1.0) > MASS_TOLERANCE:
        raise HistogramError("mass", mass, f"a sum of 1 (within {MASS_TOLERANCE:g}); it is {math.fsum(masses)!r}")
    return masses


def trimmed(edges: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Drop the buckets of zero mass at both ends."""
    occupied = np.flatnonzero(masses)
    first, last = occupied[0], occupied[-1]
    return edges[first : last + 2], masses[first : last + 1]


def normalised(masses: FloatArray) -> FloatArray:
    """Divide by the sum."""
    total = math.fsum(masses)
    # a sum that is already 1 up to rounding stays as it is, so that reading back what was written changes no bit
    return masses if abs(total - 1.0) <= 1e-15 else masses / total


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
