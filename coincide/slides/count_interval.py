"""The interval of a mean number of events, from what was counted: exact for Poisson counts of equal weight."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from coincide.arrays.kinds import FloatArray

SERIES_UP_TO = 1e5  # of a shape; for a greater one Wilson and Hilferty's cube is within 1e-7
HALVINGS = 60


def count_interval(counts: FloatArray, weights: FloatArray, clumping: float, coverage: float) -> tuple[float, float]:
    """Return the interval of the mean of a weighted sum of counts, by the gamma distribution.

    With one weight and `clumping` 1 it is the exact interval of a Poisson count (Garwood 1936), which covers the mean
    at least as often as it says. With several weights it is that of Fay and Feuer (1997).

    Parameters
    ----------
    counts, weights : FloatArray, shape (k,)
        Counts that come independently, and what one of each adds to the sum.
    clumping : float
        Variance over mean of the counts, at least 1: events come in clumps of about so many.
    coverage : float
        In (0, 1), such as 0.9.

    Examples
    --------
    >>> [round(each, 2) for each in count_interval(np.array([10.0]), np.array([1.0]), 1.0, 0.95)]
    [4.8, 18.39]
    >>> [round(each, 2) for each in count_interval(np.array([0.0]), np.array([1.0]), 1.0, 0.9)]
    [0.0, 3.0]
    """
    mean, variance = float(counts @ weights), float(counts @ weights**2) * clumping
    one = float(weights.max(initial=0.0)) * clumping
    tail = (1 - coverage) / 2
    low = 0.0 if mean == 0 else _quantile(mean**2 / variance, tail) * variance / mean
    more, wider = mean + one, variance + one**2
    return low, (_quantile(more**2 / wider, 1 - tail) * wider / more if more else 0.0)


def _quantile(shape: float, share: float) -> float:
    """Return the quantile of the gamma distribution of this shape and scale 1."""
    cubed = 1 - 1 / (9 * shape) + NormalDist().inv_cdf(share) / (3 * math.sqrt(shape))
    about = shape * max(cubed, 0.0) ** 3
    if shape > SERIES_UP_TO:
        return about
    low, high = 0.0, 2 * about + 20.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _gamma_cdf(shape, middle) < share else (low, middle)
    return (low + high) / 2


def _gamma_cdf(shape: float, x: float) -> float:
    """Return the regularised lower incomplete gamma function, by its series (DLMF 8.7.1)."""
    if x <= 0:
        return 0.0
    terms = int(max(0.0, x - shape) + 12 * math.sqrt(x + shape) + 100)
    logs = np.concatenate(([0.0], np.cumsum(np.log(x / (shape + np.arange(1, terms))))))
    top = float(logs.max())
    scale = -x + shape * math.log(x) - math.lgamma(shape + 1) + top
    return min(1.0, math.exp(scale) * float(np.exp(logs - top).sum()))
