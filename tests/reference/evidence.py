"""The slow twins of coincide.evidence: densities as fractions, bits as a product, every way to share out listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import log2, prod

from coincide import Histogram
from tests.reference.posterior import Event

MICROSECOND = Fraction(1, 10**6)
Set = frozenset[int]


def density_of_one_moment(templates: Sequence[Histogram], detected_at_us: Sequence[int]) -> Fraction:
    """Integrate the product of the densities, piece by piece; an exact time lasts the microsecond around it."""
    events = [_spread(Event.of(u, at)) for u, at in zip(templates, detected_at_us, strict=True)]
    edges = sorted({edge for event in events for start, end, _ in event.buckets for edge in (start, end)})
    return sum(
        ((b - a) * prod(event.density((a + b) / 2) for event in events) for a, b in pairwise(edges)), Fraction(0)
    )


def _spread(event: Event) -> Event:
    half = MICROSECOND / 2
    return Event([(a, b, mass) if a < b else (a - half, a + half, mass) for a, b, mass in event.buckets])


def bits_of(
    events_hz: Fraction, heard_by: Sequence[Fraction], unpaired_hz: Sequence[Fraction], density: Fraction, silent: Set
) -> float:
    """Log2 of one product over another: the members are the sensors that are not silent."""
    members = [each for each in range(len(heard_by)) if each not in silent]
    one_event = (
        events_hz * density * prod(heard_by[each] for each in members) * prod(1 - heard_by[each] for each in silent)
    )
    chance = prod(unpaired_hz[each] for each in members)
    return log2(one_event / chance) if one_event else -float("inf")


def ways(matches: Sequence[Set]) -> Iterator[tuple[int, ...]]:
    """Every choice of matches that have no detection in common, by their numbers."""

    def go_on(number: int, taken: Set) -> Iterator[tuple[int, ...]]:
        if number == len(matches):
            yield ()
            return
        yield from go_on(number + 1, taken)
        if not taken & matches[number]:
            for others in go_on(number + 1, taken | matches[number]):
                yield (number, *others)

    return go_on(0, frozenset())


def shares(matches: Sequence[Set], weights: Sequence[Fraction]) -> list[Fraction]:
    """Share of each match: the weight of the ways that have it, of that of all ways."""
    of_ways = [(way, prod((weights[each] for each in way), start=Fraction(1))) for way in ways(matches)]
    whole = sum(weight for _, weight in of_ways)
    return [
        sum((weight for way, weight in of_ways if each in way), Fraction(0)) / whole for each in range(len(matches))
    ]


def density_on_clocks(
    own: Sequence[Histogram], at_us: Sequence[int], clocks: Sequence[int], errors: Sequence[Histogram]
) -> Fraction:
    """Average `density_of_one_moment` over the offsets of one or two clocks; -1: a member is on none.

    Edges and times are whole seconds, and nothing of `own` is an exact time. With the first clock fixed, the density
    is a straight line in the offset of the second, between whole seconds and those plus the first one's. So the middle
    of each stretch is enough. What is left is a polynomial of degree two in the first offset between whole seconds,
    for which Simpson's rule is exact.
    """
    first, *second = errors
    total = Fraction(0)
    for start, length, share in _stretches(first, {Fraction(0)}):
        points = [(start, 1), (start + length / 2, 4), (start + length, 1)] if length else [(start, 6)]
        for offset, weight in points:
            if not second:
                total += share * Fraction(weight, 6) * _moved_density(own, at_us, clocks, {0: offset})
                continue
            for other, width, part in _stretches(second[0], {Fraction(0), offset % 1}):
                offsets = {0: offset, 1: other + width / 2}
                total += share * part * Fraction(weight, 6) * _moved_density(own, at_us, clocks, offsets)
    return total


def _moved_density(
    own: Sequence[Histogram], at_us: Sequence[int], clocks: Sequence[int], offsets: dict[int, Fraction]
) -> Fraction:
    moved = [at + int(10**6 * offsets.get(clock, Fraction(0))) for at, clock in zip(at_us, clocks, strict=True)]
    return density_of_one_moment(own, moved)


def _stretches(error: Histogram, parts: set[Fraction]) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    """Cut each bucket at whole seconds plus each of these parts: start, length and probability of a stretch."""
    for (lo, hi), mass in zip(pairwise(map(Fraction, error.edges_s.tolist())), error.mass.tolist(), strict=True):
        if lo == hi:
            yield lo, Fraction(0), Fraction(mass)
        cuts = {second + part for second in range(int(lo), int(hi)) for part in parts} | {lo, hi}
        for start, stop in pairwise(sorted(each for each in cuts if lo <= each <= hi)):
            yield start, stop - start, Fraction(mass) * (stop - start) / (hi - lo)
