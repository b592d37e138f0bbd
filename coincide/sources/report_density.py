"""ReportDensity: how densely the members report as they did, if one source at a place made what they heard.

With arrivals apart_i from their mean and reports r_i that is the integral over the mean arrival t of

    prod_i u_i(t + apart_i - r_i)

Templates are constant between edges. So the logarithm of the product is a sum of steps, one for each edge of each
member: sorted, summed and put to powers, the integral is exact. If the arrivals may be anywhere within w_i, each step
up comes earlier by w_i, and each step down later: an upper bound over a whole cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.sources.arrivals import Arrivals
from coincide.templates.histogram import Histogram

NOTHING = -10_000.0  # the logarithm of no density
LOG_UNITS = float(1 << 40)  # logarithms are whole numbers of this part: 1e-12, and 100 members of no density fit
LEAST_LOG, LEAST_INTEGRAL = -700.0, 1e-290  # exp of less is slow, and such an integral is 0
ROUNDING_S = 2e-9  # of both ends of a piece
POSITION_BITS = 12  # of a key; the time before it is in nanoseconds
ELEMENTS_AT_ONCE = 16_384  # of steps: arrays that stay in the processor's cache
MOST_EDGES = 24  # of a member: what slack makes of a template with many buckets is cut to so many


@dataclass(frozen=True, eq=False)
class ReportDensity:
    """The reports of k members, ready to be asked for the density at many places.

    Attributes
    ----------
    first_s, last_s : ndarray of float64, shape (k,)
        When what a member heard came at the earliest and at the latest, in seconds from the first report.
    mean_s : ndarray of float64, shape (k,)
    """

    first_s: FloatArray
    last_s: FloatArray
    mean_s: FloatArray
    exact: _Steps
    bound: _Steps

    @classmethod
    def of(cls, templates: Sequence[Histogram], reported_s: FloatArray, slack_s: float) -> ReportDensity:
        """Return that of templates which slack spreads by half of it either way."""
        spread = [spread_by(template, slack_s) for template in templates]
        first, last = (np.array([edges[end] for edges, _ in spread]) for end in (0, -1))
        mean = np.array([template.mean_s for template in templates])
        exact, bound = _Steps.of(spread, reported_s), _Steps.of([_peaked(*each) for each in spread], reported_s)
        return cls(reported_s + first, reported_s + last, reported_s + mean, exact, bound)

    def may_be(self, arrivals: Arrivals) -> BoolArray:
        """Whether a source in each cell can explain all reports at all, bool (n,)."""
        latest_first = (self.first_s - arrivals.apart_s - arrivals.within_s).max(axis=1)
        earliest_last = (self.last_s - arrivals.apart_s + arrivals.within_s).min(axis=1)
        possible: BoolArray = latest_first <= earliest_last
        return possible

    def log_bound(self, arrivals: Arrivals) -> FloatArray:
        """Return the logarithm of a density that no place in each cell exceeds, shape (n,)."""
        return self.bound.log_integral(arrivals.apart_s, arrivals.within_s + ROUNDING_S)

    def log_density(self, arrivals: Arrivals) -> FloatArray:
        """Return the logarithm of the density at each place, shape (n,)."""
        return self.exact.log_integral(arrivals.apart_s, None)

    def over_time(self, arrivals: Arrivals) -> tuple[FloatArray, FloatArray]:
        """Return when the source was, in the middle of pieces of time, and how much each weighs; shape (n, pieces)."""
        time_ns, density = self.exact.pieces(arrivals.apart_s, None)
        middle_s = (time_ns[:, 1:] + time_ns[:, :-1]) * 0.5e-9
        return middle_s - arrivals.mean_s[:, None], density * np.diff(time_ns, axis=1)


@dataclass(frozen=True, eq=False)
class _Steps:
    """The steps of the members' log densities, shape (k, m): when, how high, and whether up (-1) or down (1)."""

    at_ns: FloatArray
    step: Int64Array
    down: FloatArray
    most: float

    @classmethod
    def of(cls, spread: Sequence[tuple[FloatArray, FloatArray]], reported_s: FloatArray) -> _Steps:
        longest = max(len(edges) for edges, _ in spread)
        at_s, step, peaks = np.empty((len(spread), longest)), np.zeros((len(spread), longest)), 0.0
        for nth, (edges_s, mass) in enumerate(spread):
            with np.errstate(divide="ignore"):
                log = np.maximum(np.log(mass / np.diff(edges_s)), NOTHING)
            peaks += float(log.max())
            at_s[nth], at_s[nth, : len(edges_s)] = edges_s[-1], edges_s  # steps of nothing fill the rows up
            step[nth, : len(edges_s)] = np.diff(log, prepend=NOTHING, append=NOTHING)
        at_ns = (at_s + reported_s[:, None]) * 1e9
        return cls(at_ns, np.rint(step * LOG_UNITS).astype(np.int64), -np.sign(step), peaks)

    def pieces(self, apart_s: FloatArray, within_s: FloatArray | None) -> tuple[Int64Array, FloatArray]:
        """Return the sorted steps in nanoseconds, (n, k * m), and the density of each piece between, over exp(most)."""
        at_ns = self.at_ns - (apart_s * 1e9)[..., None]
        if within_s is not None:
            at_ns += self.down * (within_s * 1e9)[..., None]
        key = at_ns.astype(np.int64).reshape(len(at_ns), -1)
        key <<= POSITION_BITS
        key |= np.arange(self.step.size)
        key.sort(axis=1)  # numbers sort several times as fast as positions by them
        log = self.step.take(key[:, :-1] & ((1 << POSITION_BITS) - 1))
        np.cumsum(log, axis=1, out=log)  # of whole numbers: four times as fast as of floats, and exact
        density = log / LOG_UNITS
        density += len(self.step) * NOTHING - self.most
        np.clip(density, LEAST_LOG, 0.0, out=density)
        np.exp(density, out=density)
        key >>= POSITION_BITS
        return key, density

    def log_integral(self, apart_s: FloatArray, within_s: FloatArray | None) -> FloatArray:
        integral = np.empty(len(apart_s))
        rows = max(1, ELEMENTS_AT_ONCE // self.step.size)
        for first in range(0, len(integral), rows):
            part = slice(first, first + rows)
            time_ns, density = self.pieces(apart_s[part], None if within_s is None else within_s[part])
            integral[part] = np.einsum("ij,ij->i", density, np.diff(time_ns, axis=1))
        integral[integral < LEAST_INTEGRAL] = 0.0
        with np.errstate(divide="ignore"):
            logarithm: FloatArray = np.log(integral * 1e-9) + self.most
        return logarithm


def spread_by(template: Histogram, slack_s: float) -> tuple[FloatArray, FloatArray]:
    """Return edges and masses of a template whose times are off by up to half of the slack, equally likely.

    Its edges come half of the slack earlier and later; of those that lie close together one stays. The mass between
    edges is exact, and even.
    """
    edges_s = _thinned(np.unique(np.concatenate((template.edges_s - slack_s / 2, template.edges_s + slack_s / 2))))
    mass = np.maximum(np.diff(_cdf_of_spread(template, slack_s, edges_s)), 0.0)
    return edges_s, mass / mass.sum()


def _thinned(edges_s: FloatArray) -> FloatArray:
    least_s = (edges_s[-1] - edges_s[0]) / MOST_EDGES
    kept = [edges_s[0]]
    for edge_s in edges_s[1:-1].tolist():
        if kept[-1] + least_s <= edge_s <= edges_s[-1] - least_s:
            kept.append(edge_s)
    return np.array([*kept, edges_s[-1]])


def _cdf_of_spread(template: Histogram, slack_s: float, at_s: FloatArray) -> FloatArray:
    """P(X + S <= x) for S even within half of the slack: the mean of P(X <= y) for y that near to x."""
    ends = (_mean_excess(template, at_s + side * slack_s / 2) for side in (1, -1))
    upper, lower = ends
    return (upper - lower) / slack_s


def _mean_excess(template: Histogram, at_s: FloatArray) -> FloatArray:
    """Mean of max(x - X, 0), whose slope is P(X <= x)."""
    over = np.maximum(at_s[:, None] - template.edges_s, 0.0)
    length = np.diff(template.edges_s)
    squares = np.diff(-(over**2), axis=1)
    even = np.divide(squares, 2 * length, out=over[:, :-1].copy(), where=length > 0)
    excess: FloatArray = even @ template.mass
    return excess


def _peaked(edges_s: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fill the gaps before and behind the peak: densities that rise to it and fall from it, nowhere below."""
    length = np.diff(edges_s)
    density = mass / length
    top = int(np.argmax(density))
    rising = np.maximum.accumulate(density[: top + 1])
    falling = np.maximum.accumulate(density[:top:-1])[::-1]
    return edges_s, np.concatenate((rising, falling)) * length
