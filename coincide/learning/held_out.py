"""How a template does on errors that it was not learnt from: its P-P levels and its log score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.learning.robust import LearntTemplate
from coincide.templates.fit import Fit, goodness_of_fit
from coincide.templates.histogram import Histogram

RESOLUTION_S = 1e-3  # a density is taken over so long a time, so that an atom has one too
LEAST_WRONG = 0.01  # no error is impossible, or a single one would make a score infinite


@dataclass(frozen=True, eq=False)
class Judgement:
    """What errors of a later time say about a template.

    Attributes
    ----------
    fit : Fit
        Of these errors with the template and its share of wrong associations. `fit.distance` is the greatest distance
        of the P-P plot from its diagonal.
    level : FloatArray, shape (n,)
        Probability of an error at most as great as each, ascending: evenly spread from 0 to 1 if the template is right.
    score, present_score : float
        Mean natural logarithm of the density at the errors, per second, of the learnt template and of the present one
        (None: there is none). Both get the same share of wrong associations, at least 1 %. Greater is better: a
        difference of 0.69 means twice as probable.
    """

    fit: Fit
    level: FloatArray
    score: float
    present_score: float | None


def judged(learnt: LearntTemplate, later_s: FloatArray, present: Histogram | None = None) -> Judgement:
    """Judge what was learnt by later errors inside its window, at least one, against the present template.

    Examples
    --------
    >>> learnt = LearntTemplate(Histogram.uniform(0, 1), 100, 0.0, Window(10))
    >>> later = judged(learnt, np.linspace(0.05, 0.95, 10), present=Histogram.uniform(-1, 1))
    >>> round(later.fit.distance, 2), round(later.score - later.present_score, 2)
    (0.05, 0.69)
    """
    window = learnt.within
    inside = np.sort(later_s[(later_s >= window.lo_s) & (later_s <= window.hi_s)])
    expected = learnt.expected
    fit = goodness_of_fit(expected, inside, fitted_to=learnt.count)
    present_score = None if present is None else _score(learnt, present, inside)
    return Judgement(fit, expected.cdf(inside), _score(learnt, learnt.template, inside), present_score)


def _score(learnt: LearntTemplate, template: Histogram, errors_s: FloatArray) -> float:
    wrong = max(learnt.wrong_share, LEAST_WRONG)
    half_s = RESOLUTION_S / 2
    density = (template.cdf(errors_s + half_s) - template.cdf(errors_s - half_s)) / RESOLUTION_S
    by_chance = 1 / (learnt.within.hi_s - learnt.within.lo_s)
    return float(np.mean(np.log((1 - wrong) * density + wrong * by_chance)))
