"""Pair work: what it costs to judge template pairs, known before any of it is done, and how much a join may do.

The unit is a bucket pair: the term that one bucket of u and one of v add to P at one offset, about 20 ns.
Measured for 1 to 64 buckets: an evaluation of P costs its bucket pairs and about as much as 25 more. A pair's
satisfaction offsets cost as much as about 4 evaluations in a window at least as long as both templates together, in a
shorter one, where P may rise and fall often, as 5 to 60, mostly as 10 to 30. From some 20 buckets a side an
evaluation costs less than this says (`MergedBuckets`): a fifth with 64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.constraints.window import Window
from coincide.errors import CoincideError
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs

BESIDES_TERMS = 25.0  # bucket pairs
LONG_WINDOW_EVALUATIONS = 4.0
SHORT_WINDOW_EVALUATIONS = 24.0
LEAST_WORK = (BESIDES_TERMS + 1) * LONG_WINDOW_EVALUATIONS  # of any template pair's satisfaction offsets
TABLE_WORK = 16_777_216  # bucket pairs: 0.3 s; 8 buckets, a long window: 47,000 template pairs
MOST_PAIRS = 262_144  # 11 MB


def offsets_in_evaluations(pairs: TemplatePairs, window: Window | FloatArray) -> FloatArray:
    """How many evaluations of P cost as much as each pair's satisfaction offsets, shape (n,).

    There is one window, or how long each pair's own is, in seconds.
    """
    window_s = window.hi_s - window.lo_s if isinstance(window, Window) else window
    u_length_s, v_length_s = _sizes(pairs.us)[1], _sizes(pairs.vs)[1]
    is_short = window_s < u_length_s[pairs.u_index] + v_length_s[pairs.v_index]
    return np.where(is_short, SHORT_WINDOW_EVALUATIONS, LONG_WINDOW_EVALUATIONS)


def offsets_work(pairs: TemplatePairs, window: Window | FloatArray) -> FloatArray:
    """Work of each pair's satisfaction offsets in bucket pairs, shape (n,)."""
    u_buckets, v_buckets = _sizes(pairs.us)[0][pairs.u_index], _sizes(pairs.vs)[0][pairs.v_index]
    return (BESIDES_TERMS + u_buckets * v_buckets) * offsets_in_evaluations(pairs, window)


def mean_evaluation_work(us: Sequence[Histogram], vs: Sequence[Histogram]) -> float:
    """Work of one evaluation of P in bucket pairs, on average over all pairs of `us` with `vs`."""
    u_buckets, v_buckets = _sizes(us)[0], _sizes(vs)[0]
    return BESIDES_TERMS + float(u_buckets.mean() * v_buckets.mean()) if len(us) and len(vs) else 0.0


def table_work(us: Sequence[Histogram], vs: Sequence[Histogram], window: Window) -> float:
    """Sum of `offsets_work` over all pairs of `us` with `vs`, without forming the pairs."""
    if not (len(us) and len(vs)):
        return 0.0
    (u_buckets, u_length_s), (v_buckets, v_length_s) = _sizes(us), _sizes(vs)
    order = np.argsort(v_length_s)
    # the v with which a u is longer than the window are the last ones by length
    first = np.searchsorted(v_length_s[order], window.hi_s - window.lo_s - u_length_s, side="right")
    buckets_from = np.append(np.cumsum(v_buckets[order][::-1])[::-1], 0.0)
    in_short = float((BESIDES_TERMS * (len(vs) - first) + u_buckets * buckets_from[first]).sum())
    in_all = mean_evaluation_work(us, vs) * len(us) * len(vs)
    return LONG_WINDOW_EVALUATIONS * in_all + (SHORT_WINDOW_EVALUATIONS - LONG_WINDOW_EVALUATIONS) * in_short


def _sizes(templates: Sequence[Histogram]) -> tuple[FloatArray, FloatArray]:
    """Buckets and lengths in seconds."""
    buckets = np.array([len(template.mass) for template in templates], dtype=np.float64)
    return buckets, np.array([template.length_s for template in templates], dtype=np.float64)


@dataclass(frozen=True)
class PairLimits:
    """Bounds of one join's satisfaction offsets, whole numbers of at least 0.

    Parameters
    ----------
    table : int
        While all pairs of the buffered events' templates are worked out with at most so much work, a table holds them.
        The unit is a bucket pair, the term that two buckets add to a probability: about 20 ns. A template pair takes
        about 4 times the product of its numbers of buckets, in a window shorter than the templates 24 times.
    cached : int
        Beyond that (every event may bring its own template) pairs are judged when they meet, and so many are
        remembered.
    """

    table: int = TABLE_WORK
    cached: int = MOST_PAIRS

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise CoincideError(name, value, "a whole number, at least 0")


USUAL_LIMITS = PairLimits()


def checked_pair_limits(limits: object) -> PairLimits:
    """Return `limits` if they are PairLimits, else raise CoincideError."""
    if not isinstance(limits, PairLimits):
        raise CoincideError("pair_limits", limits, "PairLimits, such as PairLimits(cached=10_000)")
    return limits
