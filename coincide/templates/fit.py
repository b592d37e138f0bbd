"""Goodness of fit: whether samples agree with a template."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_whole
from coincide.errors import HistogramError
from coincide.templates.histogram import Histogram
from coincide.templates.learning import checked_samples
from coincide.templates.template_columns import checked_template


@dataclass(frozen=True)
class Fit:
    """How far samples are from a template.

    Attributes
    ----------
    count, outside : int
        Samples, and how many of them are impossible: before the template's earliest or after its latest time.
    distance : float
        Kolmogorov's: the greatest difference of the two cdfs. A probability that the time lies in some interval is
        off by at most twice as much, and so is every match probability with an independent partner.
    p_value : float
        Probability of so great a distance, or a greater one, if the template is right. With many samples it tells
        any bucket from a smooth curve: then judge by `distance`.
    """

    count: int
    outside: int
    distance: float
    p_value: float


def goodness_of_fit(template: Histogram, samples_s: Sequence[float] | FloatArray, fitted_to: int | None = None) -> Fit:
    """Compare a template with samples that it was not learnt from.

    Parameters
    ----------
    template : Histogram
    samples_s : sequence of float, shape (n,)
        Occurrence minus reported time in seconds, in any order; at least 1. Those the template was learnt from
        agree too well: learn from one part of a record and test on the other, best on what came later.
    fitted_to : int, optional
        How many samples the template was learnt from, whose own scatter `p_value` then allows for. None: the
        template is given.

    Returns
    -------
    Fit
        `p_value` is Stephens's form of Kolmogorov's distribution, for a learnt template Smirnov's of two samples; it
        is too great, never too small, where the template has atoms.

    Raises
    ------
    HistogramError

    References
    ----------
    Stephens: Use of the Kolmogorov-Smirnov, Cramer-von Mises and Related Statistics Without Extensive Tables (1970).

    Examples
    --------
    >>> fit = goodness_of_fit(Histogram.uniform(0, 1), [0.1, 0.3, 0.5, 0.7, 0.9])
    >>> fit.outside, round(fit.distance, 3), round(fit.p_value, 2)
    (0, 0.1, 1.0)
    """
    checked_template("template", template)
    ordered = np.sort(checked_samples(samples_s, least=1))
    if fitted_to is not None and (not is_whole(fitted_to) or fitted_to < 1):
        raise HistogramError("fitted_to", fitted_to, "a whole number of samples, at least 1")
    count = len(ordered)
    outside = int(np.count_nonzero((ordered < template.earliest_s) | (ordered > template.latest_s)))
    distance = _distance(template, ordered)
    effective = count if fitted_to is None else count * fitted_to / (count + fitted_to)
    return Fit(count, outside, distance, kolmogorov_p_value(distance, effective))


def _distance(template: Histogram, ordered: FloatArray) -> float:
    """Greatest difference of the cdfs: both are straight or level between these places, and may jump at them."""
    places = np.unique(np.concatenate((ordered, template.edges_s)))
    up_to = np.searchsorted(ordered, places, side="right") / len(ordered)
    before = np.searchsorted(ordered, places, side="left") / len(ordered)
    at = template.cdf(places)
    jump = np.bincount(
        np.searchsorted(places, template.edges_s[:-1]),
        weights=np.where(np.diff(template.edges_s) == 0, template.mass, 0.0),
        minlength=len(places),
    )
    return float(min(1.0, max(np.abs(up_to - at).max(), np.abs(before - (at - jump)).max())))


def kolmogorov_p_value(distance: float, effective: float) -> float:
    """Return the probability of so great a distance of two cdfs, or a greater one, by chance; Stephens's form."""
    root = math.sqrt(effective)
    scaled = (root + 0.12 + 0.11 / root) * distance
    if scaled < 0.2:  # the series converges slowly there, to 1 within 1e-12
        return 1.0
    most = 1 + math.ceil(4.6 / scaled)  # what comes after is less than 1e-18
    terms = ((-1) ** (n - 1) * math.exp(-2.0 * (n * scaled) ** 2) for n in range(1, most + 1))
    return min(1.0, max(0.0, 2.0 * math.fsum(terms)))
