"""BucketDistribution: a time that is equally likely everywhere inside each bucket, its figures and its picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import real_numbers
from coincide.arrays.plotting import axes_of, draw_density
from coincide.errors import HistogramError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BucketDistribution:
    """A distribution given by bucket bounds, shape (k + 1,), and the mass of each bucket; masses sum to 1."""

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

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the density of the buckets, and exact times as lines; return the axes. Needs ``coincide[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default the current axes of pyplot.
        """
        axes: Axes = axes_of(ax)
        draw_density(axes, self.edges_s, self.mass)
        return axes

    def cdf(self, x_s: npt.ArrayLike) -> Any:
        """P(X <= x_s), for a number or an array of any shape."""
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
        """Smallest x with P(X <= x) >= p, for p in [0, 1]; quantile(0) is earliest_s."""
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


WIDTH, HEIGHT = 320, 80  # of the picture for notebooks: an inline SVG, which needs no library and no file


def histogram_html(histogram: BucketDistribution, name: str) -> str:
    """Return a figure of a histogram: its density as bars, its exact times as lines, and its figures below."""
    edges, mass = histogram.edges_s, histogram.mass
    length = np.diff(edges)
    density = np.divide(mass, length, out=np.zeros_like(mass), where=length > 0)
    is_point = histogram.length_s == 0
    x = np.full_like(edges, WIDTH / 2) if is_point else (edges - edges[0]) / histogram.length_s * WIDTH
    height = np.where(length > 0, density / (density.max() or 1.0), mass) * HEIGHT
    shapes = [
        _bar(left, right - left, high) if right > left else _line(left, high)
        for left, right, high in zip(x[:-1].tolist(), x[1:].tolist(), height.tolist(), strict=True)
        if high > 0
    ]
    axis = f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}" stroke="currentColor"/>'
    figures = f"{name}: {figures_of(histogram)}"
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="{figures}" width="{WIDTH}" height="{HEIGHT + 1}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + 1}">{"".join(shapes)}{axis}</svg><figcaption>{figures}</figcaption></figure>'
    )


def figures_of(histogram: BucketDistribution) -> str:
    """Return the figures that sum a histogram up."""
    buckets = "1 bucket" if len(histogram.mass) == 1 else f"{len(histogram.mass)} buckets"
    support = f"{buckets} from {histogram.earliest_s:.6g} to {histogram.latest_s:.6g} s"
    return f"{support}, mean {histogram.mean_s:.6g} s, standard deviation {histogram.std_s:.6g} s"


def _bar(x: float, width: float, height: float) -> str:
    return f'<rect x="{x:.2f}" y="{HEIGHT - height:.2f}" width="{width:.2f}" height="{height:.2f}" fill="#4c78a8"/>'


def _line(x: float, height: float) -> str:
    return f'<line x1="{x:.2f}" x2="{x:.2f}" y1="{HEIGHT - height:.2f}" y2="{HEIGHT}" stroke="#e45756"/>'
