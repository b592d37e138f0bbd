"""Temporal operators by the instants that intervals consist of: slow, and the definition."""

from collections.abc import Collection, Iterable, Sequence
from itertools import product

from tests.reference.coalescing import differ_at_most

Interval = tuple[int, int]
Fact = tuple[int, int, str, float]  # start, end, group, value


def instants(interval: Interval | Fact) -> set[int]:
    """Return the whole numbers in [start, end)."""
    return set(range(interval[0], interval[1]))


def relation(a: Interval, b: Interval) -> str:
    """Return which of Allen's thirteen holds, by the sets of instants."""
    ours, theirs = instants(a), instants(b)
    if max(ours) < min(theirs):
        return "meets" if max(ours) + 1 == min(theirs) else "before"
    if max(theirs) < min(ours):
        return "met by" if max(theirs) + 1 == min(ours) else "after"
    if ours == theirs:
        return "equals"
    shared_ends = min(ours) == min(theirs), max(ours) == max(theirs)
    if ours < theirs:
        return {(True, False): "starts", (False, True): "finishes"}.get(shared_ends, "during")
    if ours > theirs:
        return {(True, False): "started by", (False, True): "finished by"}.get(shared_ends, "contains")
    return "overlaps" if min(ours) < min(theirs) else "overlapped by"


def spans(held: set[int]) -> list[Interval]:
    """Return the maximal intervals of a set of instants."""
    firsts = sorted(each for each in held if each - 1 not in held)
    lasts = sorted(each for each in held if each + 1 not in held)
    return [(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]


def coalesced(facts: Iterable[Fact]) -> list[Fact]:
    """Return the maximal intervals of each group and value."""
    held: dict[tuple[str, float], set[int]] = {}
    for start, end, group, value in facts:
        held.setdefault((group, value), set()).update(instants((start, end)))
    return sorted((*span, *key) for key, each in held.items() for span in spans(each))


def temporal_join(
    a: Sequence[Fact], b: Sequence[Fact] | None, relations: Collection[str], tolerance: float, same_group: bool
) -> list[tuple[int, int]]:
    """Return (left, right) of all pairs of facts in the relations, in order; of both ways in one column, the first."""
    pairs = []
    for (i, ours), (j, theirs) in product(enumerate(a), enumerate(a if b is None else b)):
        if not differ_at_most(ours[3], theirs[3], tolerance) or (ours[2] == theirs[2] and not same_group):
            continue
        both_ways = b is None and relation(theirs[:2], ours[:2]) in relations
        if relation(ours[:2], theirs[:2]) in relations and (not both_ways or (ours[0], i) < (theirs[0], j)):
            pairs.append((i, j))
    return pairs


def join_in_windows(
    a: Sequence[Fact],
    b: Sequence[Fact] | None,
    windows: Sequence[Interval],
    relations: Collection[str],
    tolerance: float,
    at_least: int,
) -> list[tuple[int, int, int, int, int]]:
    """Return (window, left, right, start, end) of all pairs of facts in different groups, in order."""
    found = []
    every = temporal_join(a, b, relations, tolerance, same_group=False)
    for (number, window), (i, j) in product(enumerate(windows), every):
        common = instants(a[i]) & instants((a if b is None else b)[j]) & instants(window)
        if len(common) >= at_least:
            found.append((number, i, j, min(common), max(common) + 1))
    return found


def longest_periods(facts: Sequence[Fact], windows: Sequence[Interval]) -> list[tuple[int, str, int]]:
    """Return (window, group, longest) in order."""
    longest: dict[tuple[int, str], int] = {}
    for (number, window), fact in product(enumerate(windows), facts):
        lasting = len(instants(fact) & instants(window))
        if lasting:
            longest[number, fact[2]] = max(lasting, longest.get((number, fact[2]), 0))
    return sorted((*key, lasting) for key, lasting in longest.items())
