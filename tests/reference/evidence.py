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
