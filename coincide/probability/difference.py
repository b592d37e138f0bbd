"""The probability that Xb - Xa lies in a window, exact, for one pair of templates or for many pairs of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.exact_sums import ExactSum, seconds_of, window_end_minus
from coincide.arrays.kinds import FloatArray, OffsetArray
from coincide.arrays.numbers import positions_of, real_numbers, whole_numbers
from coincide.constraints.window import Window, checked_window
from coincide.errors import OffsetError
from coincide.probability.merged_buckets import MergedBuckets
from coincide.probability.trapezoids import ELEMENTS_PER_STEP, Trapezoids, in_steps, terms_of
from coincide.templates.clocked import between
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplateColumns, TemplatePairs, checked_template, checked_templates

FURTHEST_OFFSET_S = 7e9  # no two detections (1898 to 2112) are as far apart
EXACT_OFFSET_US = 2**53  # from here on float64 leaves integers out


def match_probability(u: Histogram, v: Histogram, offset_s: npt.ArrayLike, window: Window) -> Any:
    """P(window.lo_s <= Xb - Xa <= window.hi_s) for events whose reported times lie `offset_s` apart.

    Parameters
    ----------
    u, v : Histogram
        Templates of a and of b.
    offset_s : float or array of float
        tb - ta, the reported times, in seconds; at most 7e9 either way: no two detections are further apart.
    window : Window
        Closed at both ends; an atom within 1 ns of an end lies on it.

    Returns
    -------
    float, or ndarray of float64 in the shape of `offset_s`
        Exact up to rounding, which stays below 1e-13.

    Raises
    ------
    OffsetError, HistogramError, WindowError

    References
    ----------
    Lemma 1 of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006), here in a form
    without cancellation and for buckets of zero length too.

    Examples
    --------
    IMB's and Baksan's first neutrinos of SN1987A were reported 30.444 s apart by clocks in error:

    >>> imb, baksan = Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2)
    >>> round(match_probability(imb, baksan, 30.444, Window(10)), 4)
    0.3571
    """
    u, v = between(checked_template("u", u), checked_template("v", v))
    checked_window(window)
    allowed = f"numbers of seconds, at most {FURTHEST_OFFSET_S:g} either way"
    offset = real_numbers("offset_s", offset_s, allowed, OffsetError)
    if not (np.abs(offset) <= FURTHEST_OFFSET_S).all():  # "not <=" also refuses NaN
        raise OffsetError("offset_s", offset_s, allowed)
    exact = ExactSum(offset.ravel(), np.zeros(offset.size))
    probability = _of_one_template_pair(u, v, exact, window).reshape(offset.shape)
    return float(probability) if probability.ndim == 0 else probability


def match_probabilities(
    us: Sequence[Histogram],
    vs: Sequence[Histogram],
    u_index: npt.ArrayLike,
    v_index: npt.ArrayLike,
    offset_us: npt.ArrayLike,
    window: Window,
) -> FloatArray:
    """`match_probability` of n pairs of events, whatever their templates: float64 (n,).

    Parameters
    ----------
    us, vs : sequence of Histogram
        Templates of the a side and of the b side.
    u_index, v_index : array of integer, shape (n,)
        Which of `us` and of `vs` each pair has.
    offset_us : array of int64, shape (n,)
        tb - ta in microseconds, below 2**53 either way.
    window : Window

    Raises
    ------
    HistogramError, OffsetError, WindowError
        A template is no Histogram, an index no position in its list, an offset no whole number below 2**53 either way.

    Examples
    --------
    >>> us, vs = [Histogram.point()], [Histogram.point(), Histogram.uniform(0, 4)]
    >>> match_probabilities(us, vs, [0, 0], [0, 1], [0, 0], Window(1)).tolist()
    [1.0, 0.25]
    """
    us, vs = checked_templates("us", us), checked_templates("vs", vs)
    checked_window(window)
    u_position = positions_of("u_index", u_index, (np.size(u_index),), len(us))
    v_position = positions_of("v_index", v_index, u_position.shape, len(vs))
    pairs = TemplatePairs(us, vs, u_position, v_position)
    seconds = seconds_of(_checked_offsets(offset_us, u_position.shape))
    probability = np.empty(len(pairs))
    for block, u, v in pairs.blocks():
        for step, terms in in_steps(u, v, np.arange(len(block))):
            rows = block[step]
            probability[rows] = window_probability(terms, seconds.take(rows), window)
    return probability


def probabilities_within(pairs: TemplatePairs, offset_us: OffsetArray, half_width_s: FloatArray) -> FloatArray:
    """P(|Xb - Xa| <= half width) of pairs of events that each have their own window; all of shape (n,)."""
    seconds = seconds_of(offset_us)
    probability = np.empty(len(pairs))
    for block, u, v in pairs.blocks():
        for step, terms in in_steps(u, v, np.arange(len(block))):
            rows = block[step]
            up_to_hi = terms.at_most(window_end_minus(half_width_s[rows], seconds.take(rows)))
            before_lo = terms.below(window_end_minus(-half_width_s[rows], seconds.take(rows)))
            probability[rows] = np.clip(up_to_hi - before_lo, 0.0, 1.0)
    return probability


def _checked_offsets(offset_us: npt.ArrayLike, shape: tuple[int, ...]) -> OffsetArray:
    offsets = whole_numbers("offset_us", offset_us, shape, OffsetError)
    if offsets.size and max(-int(offsets.min()), int(offsets.max())) >= EXACT_OFFSET_US:
        beyond = offsets[(offsets <= -EXACT_OFFSET_US) | (offsets >= EXACT_OFFSET_US)][0]
        raise OffsetError("offset_us", int(beyond), "microseconds, below 2**53 either way")
    return offsets


def window_probability(terms: Trapezoids | MergedBuckets, offset: ExactSum, window: Window) -> FloatArray:
    """P(lo <= Xv - Xu + offset <= hi): one offset for each column of `terms`, or many for its only one."""
    up_to_hi = terms.at_most(window_end_minus(window.hi_s, offset))
    before_lo = terms.below(window_end_minus(window.lo_s, offset))
    return np.clip(up_to_hi - before_lo, 0.0, 1.0)


def _of_one_template_pair(u: Histogram, v: Histogram, offset: ExactSum, window: Window) -> FloatArray:
    terms = terms_of(TemplateColumns.of([u], len(u.mass)), TemplateColumns.of([v], len(v.mass)))
    probability = np.empty(len(offset.high))
    step = max(1, ELEMENTS_PER_STEP // (len(u.mass) * len(v.mass)))
    for first in range(0, len(probability), step):
        rows = slice(first, first + step)
        probability[rows] = window_probability(terms, offset.take(rows), window)
    return probability
