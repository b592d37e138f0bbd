"""Guesses of quantiles of Xv - Xu: fast rather than exact; the search that uses them checks every one."""

from __future__ import annotations

import numpy as np

from coincide.arrays import FloatArray
from coincide.knots import Knots
from coincide.template_columns import TemplateColumns

ROUNDS = (3, 2, 10)  # for all, then twice for those that have not settled
SETTLED = 1e-3  # of the spread: how far the last step went; the next would go about the square of that
ELEMENTS_PER_STEP = 16_384  # knots times template pairs: arrays that stay in the processor's cache


def closer_quantiles(
    u: TemplateColumns, v: TemplateColumns, probability: FloatArray, guess_s: FloatArray
) -> FloatArray:
    """Improve guesses by Newton's method, shape (n,), one per column; those of templates with atoms stay."""
    closer_s = guess_s.copy()
    spread_s = u.edges_s[-1] - u.edges_s[0] + v.edges_s[-1] - v.edges_s[0]
    columns = np.flatnonzero(~(u.has_atoms | v.has_atoms))
    step = max(1, ELEMENTS_PER_STEP // (len(u.edges_s) * len(v.edges_s)))
    for rounds in ROUNDS:
        step_s = np.zeros(len(guess_s))
        for first in range(0, len(columns), step):
            at = columns[first : first + step]
            closer_s[at], step_s[at] = _newton(Knots.of(u.take(at), v.take(at)), probability[at], closer_s[at], rounds)
        columns = np.flatnonzero(np.abs(step_s) > SETTLED * spread_s)
    return closer_s


def _newton(knots: Knots, probability: FloatArray, guess_s: FloatArray, rounds: int) -> tuple[FloatArray, FloatArray]:
    """Return the guesses after some rounds and how far the last went; a step out of the bracket bisects it."""
    least_s, greatest_s = knots.at_s.min(axis=0), knots.at_s.max(axis=0)
    before_s = guess_s
    for _ in range(rounds):
        before_s = guess_s
        cdf, density = knots.cdf_and_density(guess_s)
        excess = cdf - probability
        least_s, greatest_s = np.where(excess < 0, guess_s, least_s), np.where(excess < 0, greatest_s, guess_s)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root_s = guess_s - excess / density
        guess_s = np.where((root_s >= least_s) & (root_s <= greatest_s), root_s, (least_s + greatest_s) / 2)
    return guess_s, guess_s - before_s
