"""Finder: which detections the queries match, each match found when its last member arrives."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.errors import CandidateLimitError
from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.matching.match_verdicts import MatchTuples
from coincide.fusion.matching.row_buffers import RowBuffers, places_of
from coincide.fusion.matching.search_work import GuardedWork, TooManyCandidatesError
from coincide.fusion.matching.source_judge import SourceJudge
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.row_codes import RowCodes
from coincide.joins.search.installed_pattern import InstalledPattern
from coincide.joins.search.pattern import Pattern
from coincide.joins.search.search import MemberRefs, TupleTest
from coincide.joins.search.work import SearchWork
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.joins.tuples.set_order import ABSENT
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import MOST_PAIRS, PairLimits
from coincide.queries import Query


class Finder:
    """Searches the buffered rows for all queries; nothing that it keeps changes an answer."""

    def __init__(
        self,
        codes: RowCodes,
        most_pairs: int = MOST_PAIRS,
        max_candidates: int = MOST_CANDIDATES,
        max_table_work: int = 0,
    ) -> None:
        areas, templates = codes.areas, codes.templates
        self._codes, self._areas, self._max_candidates = codes, areas, max_candidates
        self._limits = PairLimits(table=max_table_work, cached=most_pairs)
        self._buffers = RowBuffers(codes.streams.codes, areas, templates, codes.places)
        self._searches: dict[str, tuple[Query, InstalledPattern]] = {}
        self._look_ups_before = LookUps()

    def insert(self, rows: EventColumns, queries: Iterable[ActiveQuery]) -> None:
        """Buffer the new rows of a batch for the queries in force; a new grouping begins with them."""
        self._buffers.insert(rows, [active.query for active in queries])

    @property
    def no_numbers(self) -> set[tuple[int, str]]:
        """The rows of the last batch, by number, and what they lack: attributes that are no numbers, or a place."""
        return self._buffers.no_numbers

    def has_new(self, active: ActiveQuery) -> bool:
        """Whether rows of the last insert may play a role of a query."""
        return self._buffers.has_new(active.query.id)

    def rebuild(self, rows: EventColumns, queries: Iterable[ActiveQuery]) -> None:
        """Buffer exactly the given rows, those of queries by distance under new codes."""
        self._buffers.clear()
        for query in [query for query, (known, _) in self._searches.items() if known.needs_places]:
            self._retire(query)
        self.insert(rows, queries)

    def drop(self, gone: Int64Array, kept: EventColumns, queries: Iterable[ActiveQuery]) -> None:
        """Drop the rows of these sequence numbers; all others are kept."""
        if self._buffers.are_grouped_by_value or self._buffers.has_spare_places(len(kept)):  # codes are freed by this
            self.rebuild(kept, queries)
        else:
            self._buffers.drop(gone)

    def recode(self, new_code: CodeArray, queries: Iterable[str]) -> None:
        """Follow new template codes by old code (-1: forgotten), and forget all but these queries; then `rebuild`."""
        for query in self._searches.keys() - set(queries):
            self._retire(query)
        for query in [query for query, (known, _) in self._searches.items() if known.needs_places]:
            self._retire(query)
        for _, search in self._searches.values():
            search.recode(dict.fromkeys(search.pattern.sources, new_code))

    @property
    def look_ups(self) -> LookUps:
        """What the caches of template pairs have done since this process began, all queries together."""
        total = self._look_ups_before
        for _, search in self._searches.values():
            total = total.plus(search.look_ups)
        return total

    def find(self, active: ActiveQuery, table: EventTable, new_seqs: Int64Array, work: GuardedWork) -> MatchTuples:
        """Find the matches whose last member is among these rows, rising, of the last insert.

        OutOfTimeError and TooManyCandidatesError are those of the work.
        """
        parts = self.find_blocks(active, table, new_seqs, work)
        return MatchTuples.joined(list(parts), len(active.query.roles)).in_order()

    def find_blocks(
        self, active: ActiveQuery, table: EventTable, new_seqs: Int64Array, work: SearchWork
    ) -> Iterator[MatchTuples]:
        """Yield what `find` finds in blocks, in no order, each once it is found."""
        search = self._search_of(active.query)
        search.since_ref = active.activation_seq
        try:
            new, order = self._buffers.new_among(new_seqs), RowOrder(table, self._areas)
            explains = self._explains(active.query, table, work)
            for block in search.change_blocks(new, order.goes_first, None, work, explains=explains):
                supersedes = None if block.supersedes is None else _positions(block.supersedes, table)
                yield MatchTuples(_positions(block.members, table), supersedes)
        except CandidateLimitError as error:
            raise TooManyCandidatesError from error

    def _explains(self, query: Query, table: EventTable, work: SearchWork) -> TupleTest | None:
        judge = SourceJudge.of(query, self._codes, table.columns)
        if judge is None:
            return None
        return lambda members: judge.explains(_positions(members, table), work.check)

    def _search_of(self, query: Query) -> InstalledPattern:
        known = self._searches.get(query.id)
        if known is not None and (known[0] is query or known[0] == query):
            return known[1]
        if known is not None:
            self._retire(query.id)
        search = InstalledPattern(_pattern_of(query, self._max_candidates), self._buffers, self._limits)
        self._searches[query.id] = query, search
        return search

    def _retire(self, query: str) -> None:
        """Forget what a query had computed, but not that it was."""
        _, search = self._searches.pop(query)
        self._look_ups_before = self._look_ups_before.plus(replace(search.look_ups, pairs=0))


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The order of rows that were detected at the same time: by sensor, then id."""

    table: EventTable
    areas: Areas

    def goes_first(self, one: Int64Array, other: Int64Array) -> BoolArray:
        """Whether each row goes before the other; both are sequence numbers."""
        pairs = zip(self.table.positions(one).tolist(), self.table.positions(other).tolist(), strict=True)
        return np.array([self._name(first) < self._name(second) for first, second in pairs], np.bool_)

    def _name(self, at: int) -> tuple[str, str]:
        rows = self.table.columns
        return self.areas.sensor_of(rows.sensor[at]).name, rows.ids[at]


def _pattern_of(query: Query, max_candidates: int) -> Pattern:
    allowed = query.limits.max_candidates_per_detection or max_candidates
    return Pattern(
        query.graph,
        tuple(edge.threshold or 0.0 for edge in query.graph.edges),
        places_of(query),
        query.streams,
        query.joint_threshold,
        query.sensors,
        query.at_least,
        allowed,
    )


def _positions(members: MemberRefs, table: EventTable) -> PositionArray:
    """Return the position of each member, (n, roles), `ABSENT` where there is none."""
    refs = members.ref
    return np.where(refs == ABSENT, ABSENT, table.positions(refs.ravel()).reshape(refs.shape)).T
