"""WayBounds: what a match's share of all ways to share out a group's detections lies between, for limited work.

The chance that a detection is in no match is one over one plus the sum, over its matches, of their weights times the
chance that their other detections are in no match once it is gone. This goes on from detection to detection. Where it
is broken off, that chance is taken to be 0 or 1. The bounds that follow hold for sure, since each step turns greater
into less. (Weitz: Counting independent sets up to the tree threshold, 2006, has the idea for other weights.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp2, inf

from coincide.evidence.ways import WeighedMatch, log2_of_sum

Bounds = tuple[float, float]
NARROW = 1e-4  # bounds as close as this are not brought closer


class WayBounds:
    """Bounds of each match's share.

    Parameters
    ----------
    matches : sequence of WeighedMatch
    detections : int
        How many detections the group has.
    most_work : int
        How many detections are looked at for each match.

    Examples
    --------
    >>> bounds = WayBounds([WeighedMatch((0, 1), 0.0), WeighedMatch((1, 2), 0.0)], 3, 100)
    >>> [round(each, 6) for each in bounds.share(0)]
    [0.333333, 0.333333]
    """

    def __init__(self, matches: Sequence[WeighedMatch], detections: int, most_work: int) -> None:
        self._matches = matches
        self._most_work = most_work
        self._of: list[list[WeighedMatch]] = [[] for _ in range(detections)]
        for match in matches:
            for each in match.detections if match.bits > -inf else ():
                self._of[each].append(match)
        self._gone: set[int] = set()
        self._work = 0

    def share(self, number: int) -> Bounds:
        """Return the least and the greatest share that the match may have; each depth has all the work there is."""
        match = self._matches[number]
        if match.bits == -inf:
            return 0.0, 0.0
        bounds, depth = (0.0, 1.0), 0
        while bounds[1] - bounds[0] > NARROW:
            self._work = 0
            found = self._share(match, depth)
            if found is None:
                break
            bounds, depth = (max(bounds[0], found[0]), min(bounds[1], found[1])), depth + 1
        return bounds

    def _share(self, match: WeighedMatch, depth: int) -> Bounds | None:
        first = match.detections[0]
        own, others = None, []
        for each in self._of[first]:
            found = self._weight(each, first, depth)
            if found is None:
                return None
            if each is match:
                own = found
            else:
                others.append(found)
        assert own is not None  # noqa: S101 - a match is among those of its first detection
        least = own[0] - log2_of_sum([0.0, own[0], *(hi for _, hi in others)]) if own[0] > -inf else -inf
        greatest = own[1] - log2_of_sum([0.0, own[1], *(lo for lo, _ in others)])
        return exp2(least), exp2(greatest)

    def _weight(self, match: WeighedMatch, without: int, depth: int) -> Bounds | None:
        """Bound, in bits, the match's weight times the chance that its other detections are in no match."""
        least = greatest = match.bits
        gone = [without]
        self._gone.add(without)
        for each in match.detections:
            if each != without:
                free = self._free(each, depth)
                if free is None:
                    break
                least, greatest = least + free[0], greatest + free[1]
                gone.append(each)
                self._gone.add(each)
        self._gone.difference_update(gone)
        return (least, greatest) if len(gone) == len(match.detections) else None

    def _free(self, detection: int, depth: int) -> Bounds | None:
        """Bound, in bits, the chance that a detection is in no match of those that are left."""
        self._work += 1
        if self._work > self._most_work:
            return None
        left = [each for each in self._of[detection] if self._gone.isdisjoint(each.detections)]
        if not left:
            return 0.0, 0.0
        if depth == 0:
            return -log2_of_sum([0.0, *(each.bits for each in left)]), 0.0
        bounds = [self._weight(each, detection, depth - 1) for each in left]
        weights = [each for each in bounds if each is not None]
        if len(weights) < len(left):
            return None
        return -log2_of_sum([0.0, *(hi for _, hi in weights)]), -log2_of_sum([0.0, *(lo for lo, _ in weights)])
