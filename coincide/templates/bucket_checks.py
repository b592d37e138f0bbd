"""What edges and masses must be to make a histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_whole
from coincide.errors import HistogramError

MASS_TOLERANCE = 1e-6  # a sum further from 1 is a mistake, not rounding
SHORTEST_BUCKET_S = 1e-6  # time is counted in microseconds; what is shorter is an atom
FURTHEST_EDGE_S = 1e9
MOST_BUCKETS = 1000


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
    if (masses < 0).any():
        raise HistogramError("mass", mass, "at least 0 each")
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
