"""Shared out: the posterior of matches that have detections in common, since a detection belongs to one event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.arrays.numbers import is_whole, real_numbers, whole_numbers
from coincide.arrays.order import group_starts, stable_order
from coincide.errors import DetectionsError, RateError
from coincide.evidence.bits import posterior_of
from coincide.evidence.way_bounds import WayBounds
from coincide.evidence.ways import WeighedMatch, shares_of_all_ways

MOST_WORK = 1_000_000  # states times matches of one group: about half a second
BOUNDS_WORK = 20, 2_000  # detections looked at for each match where there is more: at least, and at most
NO_MEMBER = -1


@dataclass(frozen=True, eq=False)
class SharedPosterior:
    """The probability of each match that it is one event, as an interval; arrays of shape (n,).

    Attributes
    ----------
    lower, upper : ndarray of float64
        Equal, up to rounding, where it is exact.
    group : ndarray of int64
        The matches that share detections, one with the other or through others, have one number; from 0 on, by the
        first detection.
    """

    lower: FloatArray
    upper: FloatArray
    group: Int64Array

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def value(self) -> FloatArray:
        """The middle of each interval."""
        return (self.lower + self.upper) / 2

    @property
    def is_exact(self) -> BoolArray:
        """Whether each is known to 1e-9."""
        close: BoolArray = self.upper - self.lower <= 1e-9
        return close


def shared_out(members: npt.ArrayLike, bits: npt.ArrayLike, *, most_work: int = MOST_WORK) -> SharedPosterior:
    """Return the posterior of matches over all ways to share out their detections.

    A detection belongs to one event at most. So a way is a set of matches that have no detection in common, and weighs
    2 to the power of the sum of their bits. The posterior of a match is the weight of the ways that have it, of that of
    all ways. A match that shares no detection has the posterior of its own bits.

    Parameters
    ----------
    members : array of integer, shape (k, n)
        The numbers of each match's detections, none twice; -1: it has no such member. It is least work where the
        numbers rise with time.
    bits : array of float, shape (n,)
        The evidence of each match. Where one is NaN, the posterior of its whole group is.
    most_work : int
        How much work one group may be: states of the sum along its detections, once for each match that may continue
        them. Beyond it the posterior is an interval that is certain to have it, made with about as much work.

    Raises
    ------
    DetectionsError, RateError

    Notes
    -----
    The order of matches and of members changes nothing, not by one bit.

    Examples
    --------
    A detection of one sensor fits two of another. Each match alone has a probability of 0.8, but only one can be true:

    >>> shared_out([[0, 0], [1, 2]], [2.0, 2.0]).value.round(3).tolist()
    [0.444, 0.444]
    """
    rows = checked_members(members)
    weights = real_numbers("bits", bits, "numbers of bits", RateError)
    if weights.shape != (rows.shape[1],) or (weights == np.inf).any():
        raise RateError("bits", f"an array of shape {weights.shape}", f"{rows.shape[1]} numbers below infinity")
    if not is_whole(most_work) or most_work < 1:
        raise RateError("most_work", most_work, "a whole number from 1 on")
    group = groups_of(rows)
    lower = posterior_of(weights)
    upper = lower.copy()
    order = stable_order(group)
    starts = group_starts(group[order])
    sizes = np.diff([*starts, len(order)])
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        of_group = order[start : start + size]
        lower[of_group], upper[of_group] = _of_one_group(rows[:, of_group], weights[of_group], most_work)
    return SharedPosterior(lower, upper, group)


def checked_members(members: npt.ArrayLike) -> Int64Array:
    """Return matches whose members are in ascending order, if no detection comes twice in one of them."""
    given = whole_numbers("members", members, None, DetectionsError)
    if given.ndim != 2 or (given < NO_MEMBER).any():
        raise DetectionsError("members", f"an array of shape {given.shape}", "(k, n) numbers from 0 on, or -1")
    rows = np.sort(given, axis=0)
    if rows.size and (rows[-1] == NO_MEMBER).any():
        raise DetectionsError("members", "a match without members", "one member or more")
    twice = ((rows[1:] == rows[:-1]) & (rows[1:] != NO_MEMBER)).any(axis=0)
    if twice.any():
        raise DetectionsError("members", given[:, int(np.argmax(twice))].tolist(), "no detection twice in a match")
    return rows


def groups_of(members: Int64Array) -> Int64Array:
    """Return a number for each match, shape (n,): equal where matches share detections, also through others.

    Examples
    --------
    >>> groups_of(np.array([[5, 0, 2], [7, 1, 1]])).tolist()
    [1, 0, 0]
    """
    present = members != NO_MEMBER
    which, place = np.unique(members[present], return_inverse=True)
    match = np.nonzero(present)[1]
    least: IndexArray = np.arange(len(which))  # the least detection that each is known to hang together with
    while True:
        of_match = np.full(members.shape[1], len(which))
        np.minimum.at(of_match, match, least[place])
        nearer = least.copy()
        np.minimum.at(nearer, place, of_match[match])
        np.minimum.at(nearer, least[place], of_match[match])  # and tell the one it hung together with before
        nearer = nearer[nearer]
        if (nearer == least).all():
            return np.unique(of_match, return_inverse=True)[1].astype(np.int64)
        least = nearer


def _of_one_group(members: Int64Array, bits: FloatArray, most_work: int) -> tuple[FloatArray, FloatArray]:
    if np.isnan(bits).any():
        return np.full(len(bits), np.nan), np.full(len(bits), np.nan)
    which = np.unique(members[members != NO_MEMBER])
    places = np.searchsorted(which, members)
    listed = [
        WeighedMatch(tuple(place[row != NO_MEMBER].tolist()), weight)
        for place, row, weight in zip(places.T, members.T, bits.tolist(), strict=True)
    ]
    order = sorted(range(len(listed)), key=lambda number: (listed[number].detections, listed[number].bits))
    matches = [listed[number] for number in order]
    shares = shares_of_all_ways(matches, len(which), most_work)
    if shares is None:
        least, most = BOUNDS_WORK
        bounds = WayBounds(matches, len(which), min(max(most_work // len(matches), least), most))
        intervals = np.array([bounds.share(number) for number in range(len(matches))])
    else:
        intervals = np.array([shares, shares]).T
    sides = np.empty_like(intervals)
    sides[order] = intervals
    return sides[:, 0], sides[:, 1]
