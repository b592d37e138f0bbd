"""Whether a template still fits: how evenly recent errors spread over its levels, by what other sensors say together.

The members of a match tell when it happened. Leave one out, and the others together say by how much it was wrong. The
*level* of that error is the probability that its template gives to an error at most as great. Levels spread evenly
from 0 to 1 as long as the template is right. A clock that went wrong moves them to one end, which shows in their P-P
plot. A spread that is wrong moves them to both ends, or to the middle, which shows in how far from the middle they are.

What this can and cannot tell
-----------------------------
- Errors that all sensors share stay unseen, as in a consensus.
- The others are uncertain too. The level allows for it: it is that of the template widened by what they do not know.
- A match has members because its probability reaches a threshold. Errors too great for that are not among the members.
  So a threshold that leaves out a share of true matches moves the levels of a right template by that share at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.learning.consensus import LEAST_MEMBERS, SHORTEST_STD_US
from coincide.templates.fit import kolmogorov_p_value
from coincide.templates.histogram import Histogram

MOST_ROLES = 16  # of a match
PARTS = 20  # levels are counted in so many equal parts
CERTAIN = 1e-3  # a right template looks so wrong once in a thousand looks at it
NOTABLE = 0.1  # a smaller distance changes no match's probability by more than a fifth
NOTABLE_SPREAD = 1.25  # errors this many times as wide as a Gaussian, or as narrow, are about so far from it
CAUTION = 10  # the p-value of the distance is so many times too great for levels in parts; that of the spread is exact
USUAL_MATCH = 0.66  # a probability for which what a wrong spread does is told
NODES = 64  # equally probable values that stand for a distribution
# The mean of what rises from 0 to 1 is right within half a part, if there is a value for each of equal parts.
_GAUSSIAN = np.array([NormalDist().inv_cdf((nth + 0.5) / 32) for nth in range(32)])
# The values of members are put together as if drawn at random, each of a member once; the same on every machine.
_ORDERS = np.random.default_rng(0).permuted(np.tile(np.arange(NODES), (MOST_ROLES, 1)), axis=1)


@dataclass(frozen=True, eq=False)
class OthersSay:
    """What the other members of each match say of one, shape (matches, members).

    Attributes
    ----------
    at_us : FloatArray
        When it happened, by their weighted mean; NaN where there are not enough others.
    std_us : FloatArray
        Standard deviation of that.
    """

    at_us: FloatArray
    std_us: FloatArray


def others_say(centre_us: FloatArray, std_us: FloatArray, sensor: Int64Array, is_present: BoolArray) -> OthersSay:
    """Leave each member out once, with all reports of its sensor, and say when it happened by those that are left.

    Parameters
    ----------
    centre_us : FloatArray, shape (matches, members)
        Reported times moved by the mean of their templates, relative to a time near.
    std_us : FloatArray, shape (matches, members)
        Standard deviation of each; counts as at least 1 us.
    sensor : Int64Array, shape (matches, members)
        Members of one number err alike, as reports of one sensor do, and sensors on one clock. They count as one.
    is_present : BoolArray, shape (matches, members)
        False where a match has no such member.

    Returns
    -------
    OthersSay
        At least two others say it, else NaN.

    Examples
    --------
    >>> said = others_say(np.array([[0.0, 3.0, 5.0]]), np.ones((1, 3)), np.array([[1, 2, 3]]), np.ones((1, 3), bool))
    >>> said.at_us.tolist(), said.std_us.round(2).tolist()
    ([[4.0, 2.5, 1.5]], [[0.71, 0.71, 0.71]])
    """
    weight, total = _weights(std_us, sensor, is_present)
    at_us = (weight * np.where(is_present, centre_us, 0.0)[:, None, :]).sum(axis=2) / total
    return OthersSay(at_us, 1 / np.sqrt(total))


def _weights(std_us: FloatArray, sensor: Int64Array, is_present: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return what each member counts for each, shape (matches, members, members), and the sum, NaN of too few."""
    is_same, both = sensor[:, None, :] == sensor[:, :, None], is_present[:, None, :] & is_present[:, :, None]
    others, alike = both & ~is_same, np.maximum((both & is_same).sum(axis=2), 1)
    known_us = np.where(is_present, np.maximum(std_us, SHORTEST_STD_US), 1.0)
    weight: FloatArray = others / (known_us**2 * alike)[:, None, :]
    enough = np.rint((others / alike[:, None, :]).sum(axis=2)) >= LEAST_MEMBERS
    return weight, np.where(enough, weight.sum(axis=2), np.nan)


def deviations(template: Histogram) -> FloatArray:
    """Return equally probable distances from a template's mean in seconds, ascending, shape (`NODES`,).

    Examples
    --------
    >>> deviations(Histogram.uniform(0, 64))[[0, 1, 63]].tolist()
    [-31.5, -30.5, 31.5]
    """
    return np.asarray(template.quantile((np.arange(NODES) + 0.5) / NODES)) - template.mean_s


def others_doubt(deviation_us: FloatArray, std_us: FloatArray, sensor: Int64Array, is_present: BoolArray) -> FloatArray:
    """Return equally probable values of how wrong the others are, shape (matches, members, `NODES`).

    That is what they say minus when it happened, by their templates; so it has their shape, however heavy its tails.

    Parameters
    ----------
    deviation_us : FloatArray, shape (matches, members, `NODES`)
        The `deviations` of each member's template in microseconds; at most 16 members.
    std_us, sensor, is_present
        As of `others_say`.

    Examples
    --------
    >>> one = deviations(Histogram.normal(1.0, 64))
    >>> wrong = others_doubt(np.tile(one, (1, 3, 1)), np.ones((1, 3)), np.array([[1, 2, 3]]), np.ones((1, 3), bool))
    >>> wrong.shape, round(float(wrong.std()), 1)  # 1 / sqrt(2)
    ((1, 3, 64), 0.7)
    """
    weight, total = _weights(std_us, sensor, is_present)
    first_alike = (sensor[:, None, :] == sensor[:, :, None]).argmax(axis=2)
    drawn = np.take_along_axis(deviation_us, _ORDERS[first_alike], axis=2)
    # A template's error is the true time minus the reported one: a report that is too late has one below its mean.
    wrong: FloatArray = -(weight @ np.where(is_present[:, :, None], drawn, 0.0)) / total[:, :, None]
    return wrong


def levels(
    templates: Sequence[Histogram], which: IndexArray, error_s: FloatArray, uncertainty_s: FloatArray
) -> FloatArray:
    """Return the level of each error: the probability of one at most as great, by its template.

    Parameters
    ----------
    templates : sequence of Histogram
    which : IndexArray, shape (n,)
        Position of each error's template.
    error_s : FloatArray, shape (n,)
        True minus reported time, as others say it.
    uncertainty_s : FloatArray, shape (n,) or (n, k)
        Standard deviation of what they say; the template is widened by a Gaussian of it, within 0.02. Or k equally
        probable values of what they say minus what is true.

    Returns
    -------
    FloatArray, shape (n,)
        In [0, 1].

    Examples
    --------
    >>> levels([Histogram.uniform(0, 4)], np.zeros(2, np.int64), np.array([1.0, 3.0]), np.zeros(2)).round(3).tolist()
    [0.25, 0.75]
    """
    found = np.empty(len(error_s))
    for nth in np.unique(which).tolist():
        rows = np.flatnonzero(which == nth)
        wrong_s = uncertainty_s[rows] if uncertainty_s.ndim > 1 else uncertainty_s[rows, None] * _GAUSSIAN
        moved_s = error_s[rows, None] - wrong_s
        found[rows] = templates[nth].cdf(moved_s).mean(axis=1)
    return np.clip(found, 0.0, 1.0)


def part_of(level: FloatArray) -> Int64Array:
    """Return in which of the `PARTS` equal parts of [0, 1] each level lies."""
    parts: Int64Array = np.minimum((level * PARTS).astype(np.int64), PARTS - 1)
    return parts


@dataclass(frozen=True)
class Drift:
    """How far recent errors are from the template that they should have.

    Attributes
    ----------
    errors : int
    distance : float
        Greatest distance of the P-P plot from its diagonal, at the bounds of `PARTS` equal parts.
    p_value : float
        Probability of so great a distance, or a greater one, if the template is right.
    spread : float
        How many times as wide as the template says the errors are: 1 fits. It is exact for Gaussians, and for others
        the factor of the Gaussian whose levels are as far from the middle.
    spread_p_value : float
        Probability of a spread so far from 1, if the template is right.
    """

    errors: int
    distance: float
    p_value: float
    spread: float
    spread_p_value: float

    @property
    def is_certain(self) -> bool:
        """Whether the template is wrong beyond chance, and by so much that it matters."""
        return is_drift(self)


class DriftFigures(Protocol):
    """What `Drift` says, as others have it."""

    @property
    def distance(self) -> float:
        """Greatest distance of the P-P plot from its diagonal."""

    @property
    def p_value(self) -> float:
        """Probability of so great a distance."""

    @property
    def spread(self) -> float:
        """How many times as wide as the template says the errors are."""

    @property
    def spread_p_value(self) -> float:
        """Probability of a spread so far from 1."""


def is_off(drift: DriftFigures, certain: float = CERTAIN) -> bool:
    """Whether levels lie where a right template has them less than `certain` times, and so far off that it matters."""
    return drift.p_value < certain and drift.distance >= NOTABLE


def has_wrong_spread(drift: DriftFigures, certain: float = CERTAIN) -> bool:
    """Whether errors are wider or narrower than the template says, by so much that it matters, and not by chance."""
    return drift.spread_p_value * CAUTION < certain and max(drift.spread, 1 / drift.spread) >= NOTABLE_SPREAD


def is_drift(drift: DriftFigures, certain: float = CERTAIN) -> bool:
    """Whether a template is wrong beyond chance, in where errors lie or in how wide they are."""
    return is_off(drift, certain) or has_wrong_spread(drift, certain)


def true_probability(said: float, spread: float) -> float:
    """Return what is true where two sensors report at once and their templates say a probability: what a spread does.

    Both err `spread` times as widely as their templates say, by a Gaussian, and the window is the one for which these
    say so. Of one such sensor beside a right one it is about half as far off.

    Examples
    --------
    >>> [round(true_probability(0.66, spread), 2) for spread in (0.67, 1.0, 1.25, 1.5, 2.0)]
    [0.85, 0.66, 0.55, 0.48, 0.37]
    """
    normal = NormalDist()
    return 2 * normal.cdf(normal.inv_cdf((1 + said) / 2) / spread) - 1


def drift_of(counts: npt.ArrayLike) -> Drift | None:
    """Judge levels by how many of them lie in each of the `PARTS` equal parts; None if there are none.

    Examples
    --------
    >>> drift_of([10] * 20).distance
    0.0
    >>> drift_of([20] * 10 + [0] * 10).is_certain
    True
    >>> too_narrow = drift_of([25] * 5 + [5] * 10 + [25] * 5)  # its errors lie at both ends
    >>> round(too_narrow.distance, 2), round(too_narrow.spread, 1), too_narrow.is_certain
    (0.17, 1.7, True)
    """
    counted = np.cumsum(counts)
    errors = int(counted[-1])
    if errors == 0:
        return None
    distance = float(np.abs(counted / errors - np.arange(1, PARTS + 1) / PARTS).max())
    return Drift(errors, distance, kolmogorov_p_value(distance, errors), *_spread_of(np.asarray(counts), errors))


def _spread_of(counts: npt.NDArray[Any], errors: int) -> tuple[float, float]:
    """Return how wide errors are, and how probable it is that a right template has them so far from that.

    By their mean distance from the middle: even levels have 1/2, a Gaussian f times as wide has atan(f) / (pi / 2).
    """
    far = np.abs(np.arange(PARTS) + 0.5 - PARTS / 2) / (PARTS / 2)
    mean = float(counts @ far) / errors
    deviation = math.sqrt((1 - 4 / PARTS**2) / 12 / errors)
    return math.tan(math.pi / 2 * mean), math.erfc(abs(mean - 0.5) / deviation / math.sqrt(2))
