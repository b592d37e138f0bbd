"""Whether a template still fits: how evenly recent errors spread over its levels, by what other sensors say together.

The members of a match tell when it happened. Leave one out, and the others together say by how much it was wrong. The
*level* of that error is the probability that its template gives to an error at most as great. Levels spread evenly
from 0 to 1 as long as the template is right.

What this can and cannot tell
-----------------------------
- Errors that all sensors share stay unseen, as in a consensus.
- The others are uncertain too. The level allows for it: it is that of the template widened by their uncertainty.
- A match has members because its probability reaches a threshold. Errors too great for that are not among the members.
  So a threshold that leaves out a share of true matches moves the levels of a right template by that share at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.learning.consensus import LEAST_MEMBERS, SHORTEST_STD_US
from coincide.templates.fit import kolmogorov_p_value
from coincide.templates.histogram import Histogram

PARTS = 20  # levels are counted in so many equal parts
CERTAIN = 1e-3  # a right template looks so wrong once in a thousand looks at it
NOTABLE = 0.1  # a smaller distance changes no match's probability by more than a fifth
# One for each of 32 equal parts of a Gaussian: the mean of what rises from 0 to 1 is then right within half a part.
_NODES = np.array([NormalDist().inv_cdf((nth + 0.5) / 32) for nth in range(32)])


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
    others = is_present[:, None, :] & is_present[:, :, None] & (sensor[:, None, :] != sensor[:, :, None])
    known_us = np.where(is_present, np.maximum(std_us, SHORTEST_STD_US), 1.0)
    weight = others / known_us[:, None, :] ** 2
    enough = others.sum(axis=2) >= LEAST_MEMBERS
    total = np.where(enough, weight.sum(axis=2), np.nan)
    at_us = (weight * np.where(is_present, centre_us, 0.0)[:, None, :]).sum(axis=2) / total
    return OthersSay(at_us, 1 / np.sqrt(total))


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
    uncertainty_s : FloatArray, shape (n,)
        Standard deviation of what they say. The template is widened by a Gaussian of it, within 0.02.

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
        moved_s = error_s[rows, None] - uncertainty_s[rows, None] * _NODES
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
    """

    errors: int
    distance: float
    p_value: float

    @property
    def is_certain(self) -> bool:
        """Whether the template is wrong beyond chance, and by so much that it matters."""
        return is_drift(self.distance, self.p_value)


def is_drift(distance: float, p_value: float) -> bool:
    """Whether these figures of `Drift` say that a template is wrong beyond chance, and by so much that it matters."""
    return p_value < CERTAIN and distance >= NOTABLE


def drift_of(counts: npt.ArrayLike) -> Drift | None:
    """Judge levels by how many of them lie in each of the `PARTS` equal parts; None if there are none.

    Examples
    --------
    >>> drift_of([10] * 20).distance
    0.0
    >>> drift_of([20] * 10 + [0] * 10).is_certain
    True
    """
    counted = np.cumsum(counts)
    errors = int(counted[-1])
    if errors == 0:
        return None
    distance = float(np.abs(counted / errors - np.arange(1, PARTS + 1) / PARTS).max())
    return Drift(errors, distance, kolmogorov_p_value(distance, errors))
