"""Errors that move together: which sensors err by one clock, by how much that is wrong, and what each errs beside it.

Errors at one event are compared, against a time that is known or that others say. Where two sensors share a clock,
one errs much when the other does. So a shared part shows as a rank correlation, which few wrong associations change.

What this can and cannot tell
-----------------------------
- Where the mean of an error belongs, to the clock or to a sensor, nobody can tell. What the sensors have in common
  counts as the clock's, and what is left as their own.
- What two sensors err by themselves is told apart only by a third. With two, the spread of what differs is taken to be
  of both alike.
- The error of the clock is the mean over its sensors. So it is a little wider: its variance has the mean of theirs over
  their number beside its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray
from coincide.constraints.window import Window
from coincide.errors import HistogramError
from coincide.learning.associations import Errors
from coincide.learning.robust import learn_template
from coincide.templates.histogram import Histogram
from coincide.templates.learning import LEAST_SAMPLES

MOST_SOURCES = 100  # that are compared with each other
MOST_EVENTS = 2_000  # the first of those that two have in common
LEAST_SHARED = 0.3  # of the spread of two sensors is for certain what they share
CERTAIN_SIGMAS = 3.3


@dataclass(frozen=True, eq=False)
class SharedError:
    """What the errors of some sensors and streams have in common.

    Attributes
    ----------
    sources : tuple of int
        Their numbers, ascending.
    correlation : float
        The least rank correlation that joins one of them to the others.
    events : int
        That two of them or more have reported.
    error : Histogram
        What they err together: the error of their clock.
    own : mapping of int to Histogram
        What each errs beside that.
    """

    sources: tuple[int, ...]
    correlation: float
    events: int
    error: Histogram
    own: Mapping[int, Histogram]


def shared_errors(errors: Mapping[int, Errors], within: Window, buckets: int = 8) -> list[SharedError]:
    """Find the sensors whose errors move together, and part these into what they share and what each has beside it.

    Parameters
    ----------
    errors : mapping of int to Errors
        By number of the sensor and stream, against the same references: `Errors.reference` tells which errors are of
        one event. Of more than 100 the first are looked at.
    within, buckets
        As of `learn_template`, by which both parts are learnt. Where nothing stands out of chance, nothing is told.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> off_s, rows = rng.uniform(-10, 10, 500), np.arange(500)
    >>> ones = {n: Errors(off_s + rng.normal(0, 0.1, 500), rows, rows, 0, 0) for n in (1, 2)}
    >>> [shared] = shared_errors({**ones, 3: Errors(rng.normal(0, 5, 500), rows, rows, 0, 0)}, Window(60))
    >>> shared.sources, round(shared.correlation, 1), round(shared.error.std_s), round(shared.own[1].std_s, 1)
    ((1, 2), 1.0, 6, 0.1)
    """
    parted = (_parted(tuple(group), least, errors, within, buckets) for group, least in moving_together(errors))
    return [each for each in parted if each is not None]


def rank_correlation(one: Errors, other: Errors) -> tuple[float, int]:
    """Return the rank correlation of errors at common events, and how many of these there are; 0 of too few.

    Examples
    --------
    >>> errors = Errors(np.arange(40.0), np.arange(40), np.arange(40), 0, 0)
    >>> rank_correlation(errors, errors)
    (1.0, 40)
    """
    _, at, at_other = np.intersect1d(one.reference, other.reference, assume_unique=True, return_indices=True)
    if len(at) < LEAST_SAMPLES:
        return 0.0, len(at)
    ranks = [_ranks(each.error_s[rows[:MOST_EVENTS]]) for each, rows in ((one, at), (other, at_other))]
    spread = np.std(ranks[0]) * np.std(ranks[1])
    if spread == 0.0:
        return 0.0, len(at)
    return float(np.mean((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())) / spread), len(at)


def move_together(correlation: float, events: int) -> bool:
    """Whether errors so correlated at so many events share a part that matters, and not by chance.

    Examples
    --------
    >>> move_together(0.9, 40), move_together(0.9, 5), move_together(0.3, 10_000)
    (True, False, False)
    """
    if events < LEAST_SAMPLES:
        return False
    at_least = np.arctanh(min(correlation, 1 - 1e-12)) - CERTAIN_SIGMAS / np.sqrt(min(events, MOST_EVENTS) - 3)
    return bool(np.tanh(at_least) > LEAST_SHARED)


def moving_together(errors: Mapping[int, Errors]) -> Iterator[tuple[list[int], float]]:
    """Yield groups of sources that hang together by pairs that move together, and the least correlation of these."""
    looked_at = sorted(errors)[:MOST_SOURCES]
    group_of, least = {number: {number} for number in looked_at}, dict[int, float]()
    for one, other in combinations(looked_at, 2):
        correlation, events = rank_correlation(errors[one], errors[other])
        if not move_together(correlation, events):
            continue
        least[one] = least[other] = min(correlation, *(least.get(number, 1.0) for number in (one, other)))
        if group_of[one] is not group_of[other]:
            merged = group_of[one] | group_of[other]
            group_of |= dict.fromkeys(merged, merged)
    for number, group in group_of.items():
        if len(group) > 1 and number == min(group):
            yield sorted(group), min(least[each] for each in group)


def _parted(
    sources: tuple[int, ...], correlation: float, errors: Mapping[int, Errors], within: Window, buckets: int
) -> SharedError | None:
    event, error_s, count, mean_s = _by_event(sources, errors)
    of_several = count > 1
    widening = np.sqrt(count / np.maximum(count - 1, 1))  # a mean of which an error is a part lies too near it
    left_s = (error_s - mean_s[event]) * widening[event]
    bounds = np.cumsum([0, *(len(errors[number]) for number in sources)])
    try:
        own = {
            number: learn_template(left_s[start:stop][of_several[event[start:stop]]], within, buckets).template
            for number, start, stop in zip(sources, bounds[:-1], bounds[1:], strict=True)
        }
        error = learn_template(mean_s[of_several], within, buckets).template
    except HistogramError:  # too few, or nothing stands out of chance
        return None
    return SharedError(sources, correlation, int(np.count_nonzero(of_several)), error, own)


def _by_event(
    sources: tuple[int, ...], errors: Mapping[int, Errors]
) -> tuple[IndexArray, FloatArray, FloatArray, FloatArray]:
    """Return the event of each error and the errors, source by source; how many each event has, and their mean."""
    error_s = np.concatenate([errors[number].error_s for number in sources])
    _, event = np.unique(np.concatenate([errors[number].reference for number in sources]), return_inverse=True)
    count = np.bincount(event).astype(np.float64)
    return event, error_s, count, np.bincount(event, error_s) / count


def _ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value; equal ones share the mean of theirs."""
    _, nth, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    mean: FloatArray = last - (count + 1) / 2
    return mean[nth]
