"""Ways: all ways to share out the detections of one group among its matches, summed along the detections.

A way is a set of matches that have no detection in common, and weighs 2 to the power of their bits. Detections come in
the order of their numbers. Each is in no match, or in one that begins with it, or was taken by an earlier one. So all
that later detections need to know of a way is which of them it has taken (a transfer matrix). There are few such states
where the numbers rise with time, for a match reaches only so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp2, inf, log1p, log2

LOG2_E = 1 / 0.6931471805599453


@dataclass(frozen=True)
class WeighedMatch:
    """A match of a group: its detections, numbered within the group in ascending order, and its bits."""

    detections: tuple[int, ...]
    bits: float

    @property
    def mask(self) -> int:
        """Its detections as bits, counted from its first."""
        return sum(1 << (each - self.detections[0]) for each in self.detections)


States = dict[int, float]
"""Which detections from here on are taken, to the log2 of the weight of all ways that took them."""


def shares_of_all_ways(matches: Sequence[WeighedMatch], detections: int, most_work: int) -> list[float] | None:
    """Return the share of each match: the weight of the ways that have it, of that of all; None if it is too much work.

    Parameters
    ----------
    matches : sequence of WeighedMatch
    detections : int
        How many detections the group has.
    most_work : int
        How many states, once for each match that may continue them, may be looked at.

    Examples
    --------
    Two matches that share a detection, each as likely as not: in no match, in one, or in the other.

    >>> shares = shares_of_all_ways([WeighedMatch((0, 1), 0.0), WeighedMatch((1, 2), 0.0)], 3, 100)
    >>> [round(each, 12) for each in shares]
    [0.333333333333, 0.333333333333]
    """
    begins: list[list[tuple[int, int, float]]] = [[] for _ in range(detections)]
    for number, match in enumerate(matches):
        if match.bits > -inf:
            begins[match.detections[0]].append((number, match.mask, match.bits))
    before = _states_before(begins, most_work)
    return None if before is None else _shares(begins, before, len(matches))


def _states_before(begins: Sequence[Sequence[tuple[int, int, float]]], most_work: int) -> list[States] | None:
    """Return the states before each detection and after the last."""
    before: list[States] = [{0: 0.0}]
    for own in begins:
        most_work -= len(before[-1]) * (1 + len(own))
        if most_work < 0:
            return None
        after: States = {}
        for taken, bits in before[-1].items():
            _add(after, taken >> 1, bits)
            if not taken & 1:
                for _, mask, gained in own:
                    if not taken & mask:
                        _add(after, (taken | mask) >> 1, bits + gained)
        before.append(after)
    return before


def _shares(begins: Sequence[Sequence[tuple[int, int, float]]], before: Sequence[States], matches: int) -> list[float]:
    """Go back from the last detection: how much all ways weigh that go on from a state."""
    whole, onward = before[-1][0], {0: 0.0}
    shares = [0.0] * matches
    for own, states in zip(reversed(begins), reversed(before[:-1]), strict=True):
        here: States = {}
        for taken, bits in states.items():
            ahead = onward[taken >> 1]
            if not taken & 1:
                for number, mask, gained in own:
                    if not taken & mask:
                        with_it = gained + onward[(taken | mask) >> 1]
                        ahead = log2_of_sum((ahead, with_it))
                        shares[number] += exp2(bits + with_it - whole)
            here[taken] = ahead
        onward = here
    return [min(share, 1.0) for share in shares]


def _add(states: States, taken: int, bits: float) -> None:
    known = states.get(taken)
    states[taken] = bits if known is None else log2_of_sum((known, bits))


def log2_of_sum(logs: Iterable[float]) -> float:
    """Return the log2 of a sum of weights, given the log2 of each, of which one at least is above minus infinity.

    Examples
    --------
    >>> log2_of_sum([1000.0, 1000.0]), log2_of_sum([0.0, float("-inf")])
    (1001.0, 0.0)
    """
    greatest, *others = sorted(logs, reverse=True)
    rest = sum(exp2(each - greatest) for each in others)
    return greatest + (log1p(rest) * LOG2_E if rest < 1 else log2(1 + rest))
