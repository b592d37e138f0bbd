"""Finder: which detections the queries match, each match found when its last member arrives."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from coincide.arrays.kinds import CodeArray
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import MOST_PAIRS
from coincide.queries import Query
from coincide.queries.role_filter import Source
from spark_jobs.core.control import ActiveQuery
from spark_jobs.matching.match_verdicts import MatchTuples
from spark_jobs.matching.role_edges import role_edges
from spark_jobs.matching.row_buffers import Equal, RowBuffers
from spark_jobs.matching.search import QueryOffsets, Search
from spark_jobs.matching.set_search import find_sets
from spark_jobs.matching.tuple_search import find_pairs, find_tuples
from spark_jobs.rows.areas import Areas
from spark_jobs.rows.event_table import EventColumns, EventTable, VerifiedTemplates


class Finder:
    """Searches the buffered rows for all queries; nothing that it keeps changes an answer."""

    def __init__(
        self,
        streams: Mapping[str, int],
        areas: Areas,
        templates: VerifiedTemplates,
        most_pairs: int = MOST_PAIRS,
        max_candidates: int = MOST_CANDIDATES,
    ) -> None:
        self._streams = streams
        self._areas = areas
        self._templates = templates
        self._most_pairs, self._max_candidates = most_pairs, max_candidates
        self._buffers: dict[Equal, RowBuffers] = {}
        self._first_new_seq = 0
        self._offsets: dict[str, QueryOffsets] = {}
        self._look_ups_before = LookUps()

    def insert(self, rows: EventColumns, queries: Iterable[ActiveQuery]) -> None:
        """Buffer the new rows of a batch for the queries in force; a new grouping begins with them."""
        sources: dict[Equal, dict[Source, None]] = {}  # in order, each once
        for active in queries:
            sources.setdefault(active.query.equal, {}).update(dict.fromkeys(active.query.sources))
        known, arguments = self._buffers, (self._streams, self._areas, self._templates)
        self._buffers = {each: known.get(each) or RowBuffers(*arguments, each) for each in sources}
        for equal, buffers in self._buffers.items():
            buffers.insert(rows, sources[equal])
        self._first_new_seq = int(rows.seq[0]) if len(rows) else 0

    def rebuild(self, rows: EventColumns, queries: Iterable[ActiveQuery]) -> None:
        """Buffer exactly the given rows."""
        self._buffers = {}
        self.insert(rows, queries)

    def recode(self, new_code: CodeArray, queries: Iterable[str]) -> None:
        """Follow new template codes by old code (-1: forgotten), and forget all but these queries; then `rebuild`."""
        for query in self._offsets.keys() - set(queries):
            self._retire(query)
        for offsets in self._offsets.values():
            offsets.recode(new_code)

    @property
    def look_ups(self) -> LookUps:
        """What the caches of template pairs have done since this process began, all queries together."""
        total = self._look_ups_before
        for offsets in self._offsets.values():
            total = total.plus(offsets.look_ups)
        return total

    def find(self, active: ActiveQuery, table: EventTable) -> MatchTuples:
        """Find the matches whose last member is among the rows of the last insert, in the order of arrival."""
        search = Search(
            active,
            self._offsets_of(active.query),
            self._buffers[active.query.equal],
            table,
            self._first_new_seq,
            self._areas,
            self._templates,
        )
        return _matches_of(search, self._max_candidates).in_order()

    def _offsets_of(self, query: Query) -> QueryOffsets:
        known = self._offsets.get(query.id)
        if known is not None and known.query != query:
            self._retire(query.id)
            known = None
        if known is None:
            known = QueryOffsets(query, role_edges(query), self._templates, self._most_pairs)
            self._offsets[query.id] = known
        return known

    def _retire(self, query: str) -> None:
        """Forget what a query had computed, but not that it was."""
        self._look_ups_before = self._look_ups_before.plus(replace(self._offsets.pop(query).look_ups, pairs=0))


def _matches_of(search: Search, max_candidates: int) -> MatchTuples:
    roles = len(search.query.roles)
    if not any(len(search.new(role)) for role in range(roles)):
        return MatchTuples.none(roles)
    if search.query.at_least is not None:
        return find_sets(search, max_candidates)
    return find_pairs(search) if roles == 2 else find_tuples(search)
