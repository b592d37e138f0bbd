"""Offsets of windows at least as long as both templates: one interval, each end found by a safeguarded search.

The papers' stime, for any histograms, gaps and atoms included: Newton's method on the piecewise quadratic cdf,
safeguarded by a bracket of whole microseconds.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from coincide.arrays.exact_sums import ExactSum, seconds_of, window_end_minus
from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, OffsetArray
from coincide.offsets.bends import DensityBends, length_s
from coincide.probability.trapezoids import ATOM_TOLERANCE_S, Trapezoids, in_steps, steepest_density
from coincide.templates.template_columns import TemplateColumns, TemplatePairs

ROUNDS = (3, 2, 10)  # for all, then twice for those that have not settled
SETTLED = 1e-3  # of the length of Xv - Xu: how far the last step went; the next would go about the square of that
ELEMENTS_PER_STEP = 16_384  # bends times template pairs: arrays that stay in the processor's cache


def closer_quantiles(
    u: TemplateColumns, v: TemplateColumns, probability: FloatArray, guess_s: FloatArray
) -> FloatArray:
    """Improve guesses by Newton's method, shape (n,), one per column; those of templates with atoms stay."""
    closer_s = guess_s.copy()
    columns = np.flatnonzero(~(u.has_atoms | v.has_atoms))
    step = max(1, ELEMENTS_PER_STEP // (len(u.edges_s) * len(v.edges_s)))
    for rounds in ROUNDS:
        step_s = np.zeros(len(guess_s))
        for first in range(0, len(columns), step):
            at = columns[first : first + step]
            closer_s[at], step_s[at] = _newton(
                DensityBends.of(u.take(at), v.take(at)), probability[at], closer_s[at], rounds
            )
        columns = np.flatnonzero(np.abs(step_s) > SETTLED * length_s(u, v))
    return closer_s


def _newton(
    bends: DensityBends, probability: FloatArray, guess_s: FloatArray, rounds: int
) -> tuple[FloatArray, FloatArray]:
    """Return the guesses after some rounds and how far the last went; a step out of the bracket bisects it."""
    least_s, greatest_s = bends.at_s.min(axis=0), bends.at_s.max(axis=0)
    before_s = guess_s
    for _ in range(rounds):
        before_s = guess_s
        cdf, density = bends.cdf_and_density(guess_s)
        excess = cdf - probability
        least_s, greatest_s = np.where(excess < 0, guess_s, least_s), np.where(excess < 0, greatest_s, guess_s)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root_s = guess_s - excess / density
        guess_s = np.where((root_s >= least_s) & (root_s <= greatest_s), root_s, (least_s + greatest_s) / 2)
    return guess_s, guess_s - before_s


# Of the promised 1e-12. A plateau whose exact value is the threshold comes out 1e-16 below it; this lets it in.
PROBABILITY_TOLERANCE = 1e-13
INFERENCE_MARGIN = 1e-15  # rounding of a tangent's step; closer calls are evaluated
ROUNDS_BEFORE_BISECTION = 8


def least_probability(threshold: float) -> float:
    """Least computed probability that counts as >= threshold; above 0, however low the threshold."""
    return float(least_probabilities(np.array(threshold)))


def least_probabilities(threshold: FloatArray) -> FloatArray:
    """`least_probability` of each threshold."""
    return np.maximum(np.maximum(threshold - PROBABILITY_TOLERANCE, threshold / 2), sys.float_info.min)


def greatest_offsets(pairs: TemplatePairs, end_s: float | FloatArray, threshold: FloatArray) -> OffsetArray:
    """Greatest whole microsecond o with P(Xv - Xu + o <= end_s) >= threshold, for every pair and its own threshold.

    `end_s` is one end, or each pair's own.

    The least o with P(Xv - Xu + o >= end_s) >= threshold is ``-greatest_offsets(pairs.swapped(), -end_s, threshold)``.
    """
    ends_s = np.broadcast_to(np.asarray(end_s, np.float64), len(pairs))
    greatest = _greatest_certain(pairs, ends_s)
    for rows, search in ((threshold == 1.0, _with_neighbour), (threshold < 1.0, _greatest_probable)):
        if rows.any():
            at = np.flatnonzero(rows)
            greatest[at] = search(pairs.take(at), ends_s[at], greatest[at], threshold[at])
    return greatest


def _greatest_probable(
    pairs: TemplatePairs, end_s: FloatArray, certain: OffsetArray, threshold: FloatArray
) -> OffsetArray:
    # at the bound itself the probability is 0 unless an atom lies there; one microsecond on it is 0 for certain
    impossible = np.ceil(window_end_minus(end_s, pairs.earliest_s()).high * 1e6).astype(np.int64) + 2
    distinct, nth = np.unique(threshold, return_inverse=True)
    quantile_s = pairs.mean_s() + np.array([NormalDist().inv_cdf(p) for p in distinct])[nth] * pairs.std_s()
    greatest = np.empty(len(pairs), dtype=np.int64)
    for rows, u, v in pairs.blocks():
        guess_s = end_s[rows] - closer_quantiles(u, v, threshold[rows], quantile_s[rows])
        search = _Search(certain[rows].copy(), impossible[rows], np.rint(guess_s * 1e6).astype(np.int64))
        greatest[rows] = search.run(u, v, end_s[rows], least_probabilities(threshold[rows]))
    return greatest


def _greatest_certain(pairs: TemplatePairs, end_s: FloatArray) -> OffsetArray:
    """Greatest o at which all of Xv - Xu + o is at most end_s."""
    latest = pairs.latest_s()
    offset = np.floor(window_end_minus(end_s, latest).high * 1e6).astype(np.int64) + 1
    for _ in range(2):  # the rounding of the product may be off by one either way
        offset -= window_end_minus(end_s, seconds_of(offset)).minus(latest) < 0
    return offset


def _with_neighbour(
    pairs: TemplatePairs, end_s: FloatArray, certain: OffsetArray, threshold: FloatArray
) -> OffsetArray:
    """Add 1 us where support containment fails by no more than decimals that are no floats (0.1 + 0.2 > 0.3)."""
    following = window_end_minus(end_s, seconds_of(certain + 1))
    rows = np.flatnonzero(following.minus(pairs.latest_s()) >= -ATOM_TOLERANCE_S)
    near = pairs.take(rows)
    result = certain.copy()
    for block, u, v in near.blocks():
        here = rows[block]
        result[here] += Trapezoids.of(u, v).at_most(following.take(here)) >= least_probabilities(threshold[here])
    return result


@dataclass
class _Search:
    """Bracketed Newton on whole microseconds, for the columns of one block."""

    passing: OffsetArray  # greatest offset known to reach the threshold
    failing: OffsetArray  # least offset known not to
    guess: OffsetArray

    def run(self, u: TemplateColumns, v: TemplateColumns, end_s: FloatArray, enough: FloatArray) -> OffsetArray:
        steepest = steepest_density(u, v)
        active = np.flatnonzero(self.failing - self.passing > 1)
        rounds = 0
        while len(active):
            offset = np.clip(self.guess[active], self.passing[active] + 1, self.failing[active] - 1)
            probability, density = _evaluated(u, v, active, window_end_minus(end_s[active], seconds_of(offset)))
            excess = probability - enough[active]
            self._narrow(active, offset, excess >= 0)
            self._infer(active, offset, excess, density, steepest[active])
            rounds += 1
            if rounds > ROUNDS_BEFORE_BISECTION and rounds % 2:
                self.guess[active] = (self.passing[active] + self.failing[active]) // 2
            active = active[self.failing[active] - self.passing[active] > 1]
        return self.passing

    def _narrow(self, active: IndexArray, offset: OffsetArray, enough: BoolArray) -> None:
        self.passing[active] = np.where(enough, offset, self.passing[active])
        self.failing[active] = np.where(enough, self.failing[active], offset)

    def _infer(
        self, active: IndexArray, offset: OffsetArray, excess: FloatArray, density: FloatArray, steepest: FloatArray
    ) -> None:
        """Step along the tangent; where the curvature cannot change the verdict, take it without evaluating."""
        passing, failing = self.passing[active], self.failing[active]
        middle = (passing + failing) // 2
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = offset + np.floor(excess / density * 1e6)
            guess = np.where((root >= passing) & (root <= failing), root, middle).astype(np.int64)
        for candidate in (guess, guess + 1):
            step_s = (candidate - offset) * 1e-6
            expected = excess - density * step_s
            with np.errstate(invalid="ignore"):
                doubt = 0.5 * steepest * step_s * step_s
            inside = (candidate > passing) & (candidate < failing)
            passing = np.where(inside & (expected - doubt >= INFERENCE_MARGIN), np.maximum(passing, candidate), passing)
            failing = np.where(inside & (expected + doubt < -INFERENCE_MARGIN), np.minimum(failing, candidate), failing)
        self.passing[active], self.failing[active], self.guess[active] = passing, failing, guess


def _evaluated(
    u: TemplateColumns, v: TemplateColumns, active: IndexArray, x: ExactSum
) -> tuple[FloatArray, FloatArray]:
    """P(Xv - Xu <= x) and its density for the active columns."""
    probability, density = np.empty(len(active)), np.empty(len(active))
    for rows, terms in in_steps(u, v, active):
        probability[rows], density[rows] = terms.at_most_and_density(x.take(rows))
    return probability, density
