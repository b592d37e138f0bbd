"""MatchGroups: matches of one query and area that share detections, one with the other or through others.

The law: a group is closed once no member of it can be in a match to come. So it has the same matches however the
detections were batched. A group that would take too much to weigh is told at once, match by match; its detections are
remembered as long as they may be in another match, which then is of that group, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from coincide.fusion.weighing.pending_match import MOST_PARTS, DetectionKey, PendingMatch, PendingMember

Drop = Callable[[PendingMatch], None]


@dataclass(eq=False)
class MatchGroup:
    """Matches that hang together; `is_over`: they were too many, and have been told."""

    matches: list[PendingMatch] = field(default_factory=list)
    keys: set[DetectionKey] = field(default_factory=set)
    parts: int = 0
    closes_us: int = -(2**62)  # the greatest watermark at which a match may still join
    is_over: bool = False
    linked: set[DetectionKey] = field(default_factory=set)  # of one that is over: those that a link stands for

    def take(self, other: MatchGroup) -> None:
        """Take all of another group."""
        self.matches += other.matches
        self.keys |= other.keys
        self.parts += other.parts
        self.closes_us = max(self.closes_us, other.closes_us)
        self.is_over |= other.is_over
        self.linked |= other.linked


@dataclass(eq=False)
class MatchGroups:
    """The groups that are not closed; `reach_us` says by stream how far behind the watermark a member may lie."""

    reach_us: Mapping[str, int]
    _of: dict[DetectionKey, MatchGroup] = field(default_factory=dict)
    _closing: list[tuple[int, int, MatchGroup]] = field(default_factory=list)  # a heap; a group that grew comes again
    _links: list[tuple[int, int, PendingMatch]] = field(default_factory=list)  # a heap of those that are told

    def __bool__(self) -> bool:
        return bool(self._of)

    def add(self, match: PendingMatch) -> MatchGroup:
        """Add a match, and return its group; the caller tells all of one that is over."""
        group = self._joined(match)
        group.parts += 0 if match.is_told else match.parts
        group.closes_us = max(group.closes_us, *(self._until_us(each) for each in match.members))
        group.is_over |= match.is_told or group.parts > MOST_PARTS
        if match.is_told:
            group.linked.update(match.keys)
            self.hold(match)
        else:
            group.matches.append(match)
        if not group.is_over:
            heappush(self._closing, (group.closes_us, match.order, group))
        return group

    def told(self, group: MatchGroup) -> list[tuple[PendingMatch, bool]]:
        """Return the matches of a group that is over, in order, and whether each must stand for its detections."""
        matches, group.matches = sorted(group.matches, key=lambda each: each.order), []
        told = []
        for match in matches:
            is_link = not group.linked.issuperset(match.keys)
            group.linked.update(match.keys)
            told.append((match, is_link))
        return told

    def hold(self, link: PendingMatch) -> None:
        """Remember the detections of a match that has been told, until no match to come can have them."""
        heappush(self._links, (self._link_until_us(link), link.order, link))

    def closed(self, watermark_us: int | None, drop: Drop) -> list[MatchGroup]:
        """Return the groups that no match to come can join, and forget them; None: none can join any."""
        closed = []
        while self._closing and (watermark_us is None or self._closing[0][0] < watermark_us):
            closes_us, _, group = heappop(self._closing)
            if group.matches and closes_us == group.closes_us and not group.is_over:
                self._forget(group.keys)
                closed.append(MatchGroup(group.matches, group.keys, group.parts, closes_us))
                group.matches = []
        while self._links and (watermark_us is None or self._links[0][0] < watermark_us):
            link = heappop(self._links)[2]
            self._forget(link.keys)
            drop(link)
        return closed

    def follow(self, reach_us: Mapping[str, int]) -> None:
        """Go by another reach from now on."""
        self.reach_us = reach_us
        groups = {id(group): group for group in self._of.values() if not group.is_over}.values()
        for group in groups:
            group.closes_us = max(self._until_us(each) for match in group.matches for each in match.members)
        self._closing = [(each.closes_us, each.matches[0].order, each) for each in groups]
        self._links = [(self._link_until_us(link), link.order, link) for _, _, link in self._links]
        heapify(self._closing)
        heapify(self._links)

    def _joined(self, match: PendingMatch) -> MatchGroup:
        """Return the one group of all detections of a match."""
        found = {id(group): group for key in match.keys if (group := self._of.get(key)) is not None}
        whole, *others = sorted(found.values(), key=lambda each: -len(each.keys)) or [MatchGroup()]
        for other in others:
            whole.take(other)
            self._of |= dict.fromkeys(other.keys, whole)
            other.matches = []
        whole.keys.update(match.keys)
        self._of |= dict.fromkeys(match.keys, whole)
        return whole

    def _link_until_us(self, link: PendingMatch) -> int:
        return max(self._until_us(each) for each in link.members)

    def _until_us(self, member: PendingMember) -> int:
        return member.latest_us - self.reach_us[member.stream]

    def _forget(self, keys: Iterable[DetectionKey]) -> None:
        for key in keys:
            group = self._of.pop(key, None)
            if group is not None and group.is_over:
                group.keys.discard(key)
                group.linked.discard(key)
