"""Guesses of quantiles of Xv - Xu: fast rather than exact; the search that uses them checks every one."""

from __future__ import annotations

import numpy as np

from coincide.histogram import FloatArray
from coincide.trapezoids import TemplateColumns

ROUNDS = (3, 2, 10)  # for all, then twice for those that have not settled
SETTLED_S = 1e-6
ELEMENTS_PER_STEP = 16_384  # knots times template pairs: arrays that stay in the processor's cache


def closer_quantiles(
    u: TemplateColumns, v: TemplateColumns, probability: FloatArray, guess_s: FloatArray
) -> FloatArray:
    """Improve guesses by Newton's method, shape (n,), one per column; those of templates with atoms stay.

    The density of Xv - Xu is piecewise linear. It bends at every difference of two edges, by the product of the
    densities' jumps there, so it and the cdf are plain sums over these knots. The sums cancel where buckets are
    short: right for a guess, not for a verdict.
    """
    closer_s = guess_s.copy()
    columns = np.flatnonzero(~(u.has_atoms | v.has_atoms))
    step = max(1, ELEMENTS_PER_STEP // (len(u.edges_s) * len(v.edges_s)))
    for rounds in ROUNDS:
        step_s = np.zeros(len(guess_s))
        for first in range(0, len(columns), step):
            at = columns[first : first + step]
            closer_s[at], step_s[at] = _newton(*_knots(u.take(at), v.take(at)), probability[at], closer_s[at], rounds)
        columns = np.flatnonzero(np.abs(step_s) > SETTLED_S)
    return closer_s


def _knots(u: TemplateColumns, v: TemplateColumns) -> tuple[FloatArray, FloatArray]:
    """Return where the density bends and by how much, each of shape (knots, n)."""
    at_s = v.edges_s[None] - u.edges_s[:, None]
    bend = -_jumps(u.density)[:, None] * _jumps(v.density)[None]
    shape = (-1, at_s.shape[2])
    return at_s.reshape(shape), bend.reshape(shape)


def _jumps(density: FloatArray) -> FloatArray:
    """Jumps of a density at its edges, shape (k + 1, n)."""
    nothing = np.zeros((1, density.shape[1]))
    return np.diff(density, axis=0, prepend=nothing, append=nothing)


def _newton(
    knot_s: FloatArray, bend: FloatArray, probability: FloatArray, guess_s: FloatArray, rounds: int
) -> tuple[FloatArray, FloatArray]:
    """Return the guesses after some rounds and how far the last went; a step out of the bracket bisects it."""
    least_s, greatest_s = knot_s.min(axis=0), knot_s.max(axis=0)
    before_s = guess_s
    for _ in range(rounds):
        before_s, beyond = guess_s, guess_s - knot_s
        np.maximum(beyond, 0.0, out=beyond)
        terms = bend * beyond
        density = terms.sum(axis=0)
        terms *= beyond
        excess = 0.5 * terms.sum(axis=0) - probability
        least_s, greatest_s = np.where(excess < 0, guess_s, least_s), np.where(excess < 0, greatest_s, guess_s)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root_s = guess_s - excess / density
        guess_s = np.where((root_s >= least_s) & (root_s <= greatest_s), root_s, (least_s + greatest_s) / 2)
    return guess_s, guess_s - before_s
