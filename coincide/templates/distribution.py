"""BucketDistribution: what can be asked of a time that is equally likely everywhere inside each bucket."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import real_numbers
from coincide.errors import HistogramError


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BucketDistribution:
    """A distribution given by bucket bounds, which do not decrease, and the mass of each bucket; masses sum to 1.

    Attributes
    ----------
    edges_s : ndarray of float64, shape (k + 1,), read-only
    mass : ndarray of float64, shape (k,), read-only
    """

    edges_s: FloatArray
    mass: FloatArray

    @property
    def earliest_s(self) -> float:
        """Earliest possible occurrence, relative to the reported time."""
        return float(self.edges_s[0])

    @property
    def latest_s(self) -> float:
        """Latest possible occurrence, relative to the reported time."""
        return float(self.edges_s[-1])

    @property
    def length_s(self) -> float:
        """Return latest_s - earliest_s."""
        return self.latest_s - self.earliest_s

    @property
    def earliest_us(self) -> int:
        """Earliest possible occurrence in whole microseconds, rounded down."""
        return math.floor(self.earliest_s * 1e6)

    @property
    def latest_us(self) -> int:
        """Latest possible occurrence in whole microseconds, rounded up."""
        return math.ceil(self.latest_s * 1e6)

    @cached_property
    def mean_s(self) -> float:
        """Expected occurrence, relative to the reported time."""
        return math.fsum(self.mass * (self.edges_s[:-1] + self.edges_s[1:]) / 2)

    @cached_property
    def std_s(self) -> float:
        """Standard deviation of the occurrence."""
        from_mean = self.edges_s - self.mean_s
        left, right = from_mean[:-1], from_mean[1:]
        return math.sqrt(math.fsum(self.mass * (left * left + left * right + right * right) / 3))

    def cdf(self, x_s: npt.ArrayLike) -> Any:
        """P(X <= x_s), for a number or an array of any shape.

        Examples
        --------
        >>> from coincide.templates.histogram import Histogram
        >>> Histogram.uniform(0, 4).cdf([-1, 1, 9]).tolist()
        [0.0, 0.25, 1.0]
        """
        x = real_numbers("x_s", x_s, "numbers of seconds", HistogramError)
        bucket = np.searchsorted(self.edges_s, x, side="right") - 1
        inside = np.clip(bucket, 0, len(self.mass) - 1)
        length = np.diff(self.edges_s)[inside]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(length > 0, (x - self.edges_s[inside]) / length, 1.0)
        below = np.concatenate(([0.0], np.cumsum(self.mass)))
        within = below[inside] + self.mass[inside] * np.clip(share, 0.0, 1.0)
        probability = np.where(bucket < 0, 0.0, np.where(x >= self.latest_s, 1.0, within))
        return float(probability) if probability.ndim == 0 else probability

    def quantile(self, p: npt.ArrayLike) -> Any:
        """Smallest x with P(X <= x) >= p, for p in [0, 1]; quantile(0) is earliest_s.

        Examples
        --------
        >>> from coincide.templates.histogram import Histogram
        >>> Histogram.uniform(0, 4).quantile(0.25)
        1.0
        """
        allowed = "probabilities from 0 to 1"
        p_array = real_numbers("p", p, allowed, HistogramError)
        if not np.all((p_array >= 0) & (p_array <= 1)):
            raise HistogramError("p", p, allowed)
        below = np.concatenate(([0.0], np.cumsum(self.mass)))
        below[-1] = 1.0
        bucket = np.clip(np.searchsorted(below, p_array, side="left") - 1, 0, len(self.mass) - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self.mass[bucket] > 0, (p_array - below[bucket]) / self.mass[bucket], 0.0)
        left, right = self.edges_s[bucket], self.edges_s[bucket + 1]
        x = np.minimum(left + np.clip(share, 0.0, 1.0) * (right - left), right)
        return float(x) if x.ndim == 0 else x
