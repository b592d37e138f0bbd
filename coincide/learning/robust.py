"""A template from errors of which some are wrong associations: what stands out of the level of chance.

Errors are a mixture. Most are the sensor's own. Some come from a reference that has nothing to do with the detection;
these are spread evenly over the window that was searched. So the emptiest half of the window shows how many of them
there are to the second. What does not stand out of that level is left out, and under what stands out the level is
subtracted, as physicists subtract a background that they measure beside a peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray
from coincide.constraints.window import Window
from coincide.errors import HistogramError
from coincide.learning.associations import checked_search
from coincide.templates.histogram import Histogram
from coincide.templates.learning import LEAST_SAMPLES, bayesian_blocks, checked_samples

BLOCKS = 64  # at most so many parts of the window are told apart
STANDING_OUT = 3.3**2 / 2  # log-likelihood ratio: 3.3 standard deviations, by chance once in 2,000 parts


@dataclass(frozen=True)
class LearntTemplate:
    """A template and what it was learnt from.

    Attributes
    ----------
    template : Histogram
    count : int
        Errors in all, also those that were left out.
    wrong_share : float
        Estimated share of wrong associations among them.
    within : Window
        The window that was searched.
    """

    template: Histogram
    count: int
    wrong_share: float
    within: Window

    @property
    def fills_window(self) -> bool:
        """Whether it takes more than two fifths of the window: then rare errors may count as wrong associations."""
        return self.template.length_s > 0.4 * (self.within.hi_s - self.within.lo_s)

    @property
    def expected(self) -> Histogram:
        """The distribution of errors as they are found, wrong associations among them."""
        return mixed(self.template, self.within, self.wrong_share)


def learn_template(errors_s: Sequence[float] | FloatArray, within: Window, buckets: int = 8) -> LearntTemplate:
    """Learn a template from errors of which some may be wrong associations.

    The window is cut into parts by Bayesian blocks. The emptiest parts that make half of it give the level of wrong
    associations. Parts whose errors exceed it by 3.3 standard deviations are kept. From them the template is learnt as
    `Histogram.from_samples` does, and the level is subtracted from each bucket.

    Without wrong associations the level is 0 and nothing is left out, unless it is alone in half of the window. With
    many, errors that are rarer than chance makes them are lost: nobody can tell the two apart.

    Parameters
    ----------
    errors_s : sequence of float, shape (n,)
        True minus reported time in seconds, in any order; those outside the window are left out. At least 30 inside.
    within : Window
        Where errors were looked for.
    buckets : int
        At most so many, from 1 to 1000.

    Raises
    ------
    HistogramError
        Too few errors, or nothing that stands out of chance.
    WindowError

    References
    ----------
    Li, Ma: Analysis methods for results in gamma-ray astronomy (1983), for a source above a measured background.

    Examples
    --------
    >>> errors_s = [*(-1 - n / 200 for n in range(200)), *(n - 24.5 for n in range(50))]  # 50 are wrong
    >>> learnt = learn_template(errors_s, Window(30))
    >>> round(learnt.wrong_share, 2), round(learnt.template.earliest_s), round(learnt.template.latest_s)
    (0.2, -2, -1)
    """
    window = checked_search(within)
    samples = checked_samples(errors_s, 0)
    samples = checked_samples(samples[(samples >= window.lo_s) & (samples <= window.hi_s)], LEAST_SAMPLES)
    kept_parts_s = _standing_out(*_parts(samples, window))
    inside = np.any((samples >= kept_parts_s[:, :1]) & (samples <= kept_parts_s[:, 1:]), axis=0)
    kept, outside_s = samples[inside], window.hi_s - window.lo_s - _covered_s(kept_parts_s)
    level_hz = (len(samples) - len(kept)) / outside_s if outside_s > 0 else 0.0
    if len(kept) < LEAST_SAMPLES:
        allowed = f"at least {LEAST_SAMPLES} that stand out of chance; there are {len(kept)} of {len(samples)}"
        raise HistogramError("errors_s", f"{len(samples)} errors", allowed)
    template = _without_chance(kept, level_hz, buckets)
    wrong = min(1.0, level_hz * (window.hi_s - window.lo_s) / len(samples))
    return LearntTemplate(template, len(samples), wrong, window)


def mixed(template: Histogram, window: Window, share: float) -> Histogram:
    """Return the template with `share` of its mass spread evenly over a window that contains it."""
    edges_s = np.concatenate(([window.lo_s], template.edges_s, [window.hi_s]))
    mass = (1 - share) * np.concatenate(([0.0], template.mass, [0.0])) + share * np.diff(edges_s) / (
        window.hi_s - window.lo_s
    )
    is_there = np.diff(edges_s, prepend=-np.inf) >= 1e-6  # an edge at the window's end is the end
    is_there[1:-1] = True
    is_there[[1, -1]] &= np.diff(edges_s)[[0, -1]] >= 1e-6
    return Histogram(edges_s[is_there], mass[is_there[1:]])


def _parts(samples: FloatArray, window: Window) -> tuple[FloatArray, FloatArray]:
    """Cut the whole window; return edges, shape (k + 1,), and how many samples lie in each part, shape (k,)."""
    edges_s, mass = bayesian_blocks(np.concatenate(([window.lo_s], samples, [window.hi_s])), BLOCKS)
    counts = np.rint(mass * (len(samples) + 2))
    counts[[0, -1]] -= 1 if len(counts) > 1 else 2  # the two ends of the window are no samples
    return edges_s, counts


def _standing_out(edges_s: FloatArray, counts: FloatArray) -> FloatArray:
    """Return start and end of the parts that have more than chance gives, shape (k, 2).

    Each is longer by its mean distance between errors on either side: a border of parts lies midway between two errors,
    so the outermost one may have fallen to the emptier side.
    """
    length_s = np.diff(edges_s)
    order = np.argsort(_density(counts, length_s), kind="stable")
    covered_s = np.cumsum(length_s[order])
    emptiest = order[: np.searchsorted(covered_s, covered_s[-1] / 2) + 1]
    stands_out = _exceeds(counts, length_s * counts[emptiest].sum() / length_s[emptiest].sum())
    apart_s = length_s[stands_out] / counts[stands_out]
    start_s, end_s = edges_s[:-1][stands_out] - apart_s, edges_s[1:][stands_out] + apart_s
    parts_s: FloatArray = np.clip(np.stack((start_s, end_s), axis=1), edges_s[0], edges_s[-1])
    return parts_s


def _density(counts: FloatArray, length_s: FloatArray) -> FloatArray:
    density: FloatArray = np.divide(counts, length_s, out=np.full(len(counts), np.inf), where=length_s > 0)
    return density


def _covered_s(parts_s: FloatArray) -> float:
    """Return the length of all parts together, each place once; they are in order."""
    until_s = np.maximum.accumulate(parts_s[:, 1]) if len(parts_s) else np.empty(0)
    start_s = np.maximum(parts_s[:, 0], np.concatenate((parts_s[:1, 0], until_s[:-1])))
    return float(np.maximum(until_s - start_s, 0.0).sum())


def _exceeds(counts: FloatArray, expected: FloatArray) -> BoolArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(counts > 0, counts * np.log(counts / expected), 0.0) - (counts - expected)
    exceeds: BoolArray = (counts > expected) & (ratio >= STANDING_OUT)
    return exceeds


def _without_chance(kept: FloatArray, level_hz: float, buckets: int) -> Histogram:
    edges_s, mass = bayesian_blocks(kept, buckets)
    counts = np.maximum(mass * len(kept) - level_hz * np.diff(edges_s), 0.0)
    return Histogram(edges_s, counts / counts.sum())
