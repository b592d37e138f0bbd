"""InstalledPattern: one pattern at work on shared buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from coincide.arrays.kinds import CodeArray
from coincide.joins.events import Events
from coincide.joins.progress import Progress
from coincide.joins.search.edge_judges import EdgeJudges
from coincide.joins.search.pattern import Pattern
from coincide.joins.search.search import EventBuffers, MemberRefs, MemberSets, RefTest, Search, TupleTest
from coincide.joins.search.set_search import find_all_sets, find_sets
from coincide.joins.search.tuple_search import find_pairs, find_tuples
from coincide.joins.search.work import WHATEVER_IT_TAKES, SearchWork
from coincide.joins.stream_buffers import SourceName
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import PairLimits


class InstalledPattern:
    """A pattern, and what is known of its template pairs; nothing that it keeps changes an answer.

    Events before `since_ref` do not count.
    """

    def __init__(self, pattern: Pattern, buffers: EventBuffers, limits: PairLimits, since_ref: int = 0) -> None:
        self.pattern, self.since_ref = pattern, since_ref
        self._judges, self._buffers = EdgeJudges(pattern, buffers.templates, limits), buffers

    @property
    def look_ups(self) -> LookUps:
        """What the caches of template pairs have done so far; nothing while tables will do."""
        return self._judges.look_ups

    def recode(self, new_codes: Mapping[SourceName, CodeArray]) -> None:
        """Follow a change of template codes: the new ones by old code, of each source where they changed."""
        self._judges.recode(new_codes)

    def joined(self, parts: Iterable[MemberSets]) -> MemberSets:
        """Return the blocks of `change_blocks` as one."""
        return MemberSets.all_of(list(parts), len(self.pattern.sources))

    def change_blocks(
        self,
        new: Mapping[SourceName, Events],
        goes_first: RefTest,
        may_meet: RefTest | None = None,
        work: SearchWork = WHATEVER_IT_TAKES,
        *,
        are_of_one_stream: bool = False,
        explains: TupleTest | None = None,
    ) -> Iterator[MemberSets]:
        """Yield the tuples that new events complete, which are in the buffers already, and what these supersede.

        A block has about 64k candidates, or as many as one event makes. The buffers may not change before the last one.

        `goes_first`, `may_meet` and `explains` are those of a `Search`. New events of one stream meet each other only
        if it has several roles. `work` is told what the search does, and may end it.

        Raises
        ------
        CandidateLimitError
            With `at_least`: one event has more candidates than allowed.
        """
        pattern = self.pattern
        if not any(len(new.get(source, ())) for source in pattern.sources):
            return
        meets_new = not are_of_one_stream or bool(pattern.twins)
        search = self._search(new, goes_first, may_meet, work, explains, meets_new=meets_new)
        if pattern.at_least is not None:
            yield from find_sets(search)
        else:
            yield from map(MemberSets, find_pairs(search) if len(pattern.sources) == 2 else find_tuples(search))

    def all_sets(
        self,
        events: Mapping[SourceName, Events],
        goes_first: RefTest,
        progress: Progress,
        work: SearchWork,
        explains: TupleTest | None = None,
    ) -> MemberRefs:
        """Return the largest sets of all events, which are in the buffers already; `work` hears of what is held.

        Raises
        ------
        CandidateLimitError
            One event has more candidates than allowed.
        """
        if not any(map(len, events.values())):
            return MemberRefs.all_of([], len(self.pattern.sources))
        search = self._search(events, goes_first, None, work, explains, meets_new=True)
        return find_all_sets(search, progress)

    def _search(
        self,
        new: Mapping[SourceName, Events],
        goes_first: RefTest,
        may_meet: RefTest | None,
        work: SearchWork,
        explains: TupleTest | None,
        *,
        meets_new: bool,
    ) -> Search:
        self._judges.follow()
        arguments = new, self.since_ref, goes_first, meets_new, may_meet, work, explains
        return Search(self.pattern, self._judges, self._buffers, *arguments)
