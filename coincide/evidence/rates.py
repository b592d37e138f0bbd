"""Learnt rates: how often events come, how well they are heard and how much else is reported, from the matches.

The posteriors of matches need the rates, and the rates are learnt from the posteriors. So this could feed on itself.
Four things bound it. The word that somebody gave counts as much as some events that were seen. What is learnt stays
within a factor of it. A rate of events is never so great that a sensor would hear more events than it has reports. And
where a stream is followed, the matches of a stretch are judged by the rates of the stretches before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_number, real_numbers, whole_numbers
from coincide.errors import RateError
from coincide.evidence.network import Network
from coincide.evidence.shares import NO_MEMBER

WORD_EVENTS = 10.0  # the word counts as much as so many events
FURTHEST_FACTOR = 100.0  # of the rate of events from the word, either way
LEAST_HEARD, MOST_HEARD = 0.01, 0.99
UNSEEN = 0.5  # unpaired detections beyond those that were counted: none seen yet does not mean never
INNER_ROUNDS = 150
SETTLED = 1e-7


@dataclass(frozen=True, eq=False)
class Hearings:
    """What was heard for some time, as expected counts.

    Attributes
    ----------
    lasts_s : float
        For how long.
    events : float
        Events that two sensors or more heard.
    heard : ndarray of float64, shape (sensors,)
        How many of these each sensor heard.
    reported : ndarray of float64, shape (sensors,)
        Detections of each sensor, those of events among them.
    alive : ndarray of float64, shape (sensors,), optional
        The share of the time in which each sensor lived; by default all of it.
    while_alive : ndarray of float64, shape (sensors,), optional
        How many of the events came while it lived; by default all.
    """

    lasts_s: float
    events: float
    heard: FloatArray
    reported: FloatArray
    alive: FloatArray = field(default_factory=lambda: np.empty(0))
    while_alive: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for name, value in (("alive", 1.0), ("while_alive", self.events)):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.full(len(self.heard), float(value)))

    @classmethod
    def of(cls, sensor: npt.ArrayLike, posterior: npt.ArrayLike, reported: npt.ArrayLike, lasts_s: float) -> Hearings:
        """Count matches by their posteriors.

        Parameters
        ----------
        sensor : array of integer, shape (k, n)
            The sensor of each member of each match, or part; -1: no such member.
        posterior : array of float, shape (n,)
            That these detections, and no others, are of one event. NaN, where it is not known, counts as 0.
        reported : array of float, shape (sensors,)
        lasts_s : float
            Above 0.

        Examples
        --------
        >>> hearings = Hearings.of([[0, 0], [1, 2]], [0.5, 0.25], [10, 20, 30], 60)
        >>> hearings.events, hearings.heard.tolist()
        (0.75, [0.75, 0.5, 0.25])
        """
        counts = real_numbers("reported", reported, "numbers of detections", RateError)
        if not is_number(lasts_s) or lasts_s <= 0:
            raise RateError("lasts_s", lasts_s, "a number of seconds above 0")
        if counts.ndim != 1 or not ((counts >= 0) & np.isfinite(counts)).all():
            raise RateError("reported", reported, "a number of detections, at least 0, for each sensor")
        place = whole_numbers("sensor", sensor, None, RateError)
        shares = np.nan_to_num(real_numbers("posterior", posterior, "probabilities", RateError))
        if shares.ndim != 1 or place.shape[1:] != shares.shape or not ((shares >= 0) & (shares <= 1)).all():
            raise RateError("posterior", f"an array of shape {shares.shape}", "a probability for each column of sensor")
        there = place != NO_MEMBER
        if there.any() and not 0 <= place[there].min() <= place.max() < len(counts):
            raise RateError("sensor", int(place.max()), f"positions among {len(counts)} sensors, or -1")
        weights = np.broadcast_to(shares, place.shape)[there]
        heard = np.bincount(place[there], weights=weights, minlength=len(counts)).astype(np.float64)
        return cls(float(lasts_s), float(shares.sum()), heard, counts)

    def and_then(self, later: Hearings, kept: float = 1.0) -> Hearings:
        """Return these, weighted by `kept` from 0 to 1, and those of a later stretch: the past fades."""
        lasts_s = kept * self.lasts_s + later.lasts_s
        alive_s = kept * self.lasts_s * self.alive + later.lasts_s * later.alive
        return Hearings(
            lasts_s,
            kept * self.events + later.events,
            kept * self.heard + later.heard,
            kept * self.reported + later.reported,
            alive_s / lasts_s,
            kept * self.while_alive + later.while_alive,
        )


def learnt_rates(word: Network, hearings: Hearings) -> Network:
    """Return the most plausible rates, given what was heard and the word that somebody gave.

    Events that one sensor or none heard are not seen among the matches. They follow from those that were (capture and
    recapture, solved by expectation and maximisation), where three sensors or more overlap. Two sensors tell only the
    product of the rate and the hearing; then what they tell moves the word's values least.

    The unpaired detections are those reported less those of events. They need no word.

    Parameters
    ----------
    word : Network
        Its rate of events and hearing probabilities are what one starts from; they are known.
    hearings : Hearings

    Raises
    ------
    RateError

    Examples
    --------
    A word that is far off, and a day in which 100 events were heard by a and b, a and c, b and c or all three:

    >>> sensors = np.array([[0, 0, 1, 0], [1, 2, 2, 1], [-1, -1, -1, 2]])
    >>> day = Hearings.of(np.repeat(sensors, 25, axis=1), np.ones(100), [500, 500, 500], 86_400)
    >>> learnt = learnt_rates(Network("abc", 10 / 86_400, 0.9, None), day)
    >>> round(learnt.events_hz * 86_400), learnt.heard_by.round(2).tolist()
    (105, [0.67, 0.67, 0.67])
    >>> (learnt.unpaired_hz * 86_400).round(1).tolist()
    [425.5, 425.5, 425.5]
    """
    if np.isnan(word.events_hz):
        raise RateError("word.events_hz", None, "a rate to start from")
    if len(hearings.heard) != len(word.sensors):
        raise RateError("hearings", f"of {len(hearings.heard)} sensors", f"those of {len(word.sensors)} sensors")
    events_hz, heard_by = _most_plausible(word, hearings)
    most_hz = float(np.min((hearings.reported + 1) / hearings.lasts_s / heard_by))
    events_hz = min(max(events_hz, word.events_hz / FURTHEST_FACTOR), word.events_hz * FURTHEST_FACTOR, most_hz)
    unpaired = np.maximum(hearings.reported - hearings.heard, 0.0) + UNSEEN
    return Network(word.sensors, events_hz, heard_by, unpaired / hearings.lasts_s)


def _most_plausible(word: Network, hearings: Hearings) -> tuple[float, FloatArray]:
    """Fill in the events that were not seen, count all, and again until nothing changes."""
    events_hz, heard_by = word.events_hz, np.clip(word.heard_by, LEAST_HEARD, MOST_HEARD)
    for _ in range(INNER_ROUNDS):
        expected = events_hz * hearings.lasts_s
        hears = np.minimum(heard_by * hearings.alive, MOST_HEARD)  # a dead sensor hears nothing
        by_none = float(np.prod(1 - hears))
        by_one = expected * by_none * hears / (1 - hears)
        unseen = by_one.sum() + expected * by_none
        before = events_hz
        events_hz = _between(word.events_hz, hearings.events + unseen, hearings.lasts_s)
        missed = (unseen - by_one) * hearings.alive * (1 - heard_by) / (1 - hears)
        came = hearings.while_alive + by_one + missed
        heard_by = (hearings.heard + by_one + WORD_EVENTS * word.heard_by) / (came + WORD_EVENTS)
        heard_by = np.clip(heard_by, LEAST_HEARD, MOST_HEARD)
        if abs(events_hz - before) <= SETTLED * before:
            break
    return events_hz, heard_by


def _between(word_hz: float, events: float, lasts_s: float) -> float:
    """Return a rate between the word and what was seen: the more events, the nearer to these.

    Where less was seen than the word says, the word is as good as `WORD_EVENTS` and the time that these take. That time
    is long where the word is too low, and would hold the rate down; then the mean is one of logarithms.
    """
    seen_hz = events / lasts_s
    if seen_hz <= word_hz:
        return (events + WORD_EVENTS) / (lasts_s + WORD_EVENTS / word_hz)
    return float(seen_hz * (word_hz / seen_hz) ** (WORD_EVENTS / (events + WORD_EVENTS)))


@dataclass(frozen=True, eq=False)
class Learnt:
    """Rates that explain the matches which they judge: after so many rounds, and whether the last changed nothing."""

    network: Network
    rounds: int
    has_settled: bool


def fixed_point(
    word: Network,
    judge: Callable[[Network], Hearings],
    reported: npt.ArrayLike,
    lasts_s: float,
    *,
    most_rounds: int = 50,
    settled: float = 1e-3,
) -> Learnt:
    """Judge matches by rates, learn rates from the matches, and again until the rates stay as they are.

    The same word and matches always give the same rates. For a log that is read as it grows, do one round for each
    stretch of it: learn from the hearings of all stretches before, `Hearings.and_then` one by one, and judge the next.

    Parameters
    ----------
    word : Network
        What one starts from. Where its rates of unpaired detections are not known, all detections count as such at
        first.
    judge : callable
        Judges the matches by a network, and counts them.
    reported : array of float, shape (sensors,)
        Detections of each sensor.
    lasts_s : float
    most_rounds : int
    settled : float
        No rate changes by more than this part of it.

    Examples
    --------
    Two sensors, and four pairs of one event each for all that the rates say:

    >>> def judge(network):
    ...     return Hearings.of([[0] * 4, [1] * 4], [1.0] * 4, [10, 20], 100)
    >>> learnt = fixed_point(Network("ab", 0.01, 0.9, None), judge, [10, 20], 100)
    >>> learnt.has_settled, learnt.network.unpaired_hz.round(3).tolist()
    (True, [0.065, 0.165])
    """
    nothing = np.empty((2, 0), np.int64)
    first = Hearings.of(nothing, [], reported, lasts_s)
    unpaired = np.where(np.isnan(word.unpaired_hz), (first.reported + UNSEEN) / lasts_s, word.unpaired_hz)
    network = Network(word.sensors, word.events_hz, word.heard_by, unpaired)
    for number in range(1, most_rounds + 1):
        after = learnt_rates(word, judge(network))
        moved = np.abs(np.log(_all_rates(after) / _all_rates(network))).max()
        network = after
        if moved <= settled:
            return Learnt(network, number, has_settled=True)
    return Learnt(network, most_rounds, has_settled=False)


def _all_rates(network: Network) -> FloatArray:
    return np.array([network.events_hz, *network.heard_by, *network.unpaired_hz])
