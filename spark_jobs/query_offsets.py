"""QueryOffsets: what one query has learnt of template pairs, one cache for each kind of edge, and of sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coincide.arrays import CodeArray
from coincide.offset_cache import LookUps, OffsetCache
from coincide.query import Query
from spark_jobs.role_edges import RoleEdge
from spark_jobs.templates import Templates


class QueryOffsets:
    """Caches by window and threshold; all together remember at most `most_pairs`.

    Attributes
    ----------
    held : dict of frozenset to bool
        Whether sets of members hold jointly (see `set_search`).
    """

    def __init__(self, query: Query, edges: Sequence[RoleEdge], templates: Templates, most_pairs: int) -> None:
        self.query = query
        self.edges = edges
        self.held: dict[frozenset[int], bool] = {}
        kinds = dict.fromkeys((edge.window, edge.threshold) for edge in edges)
        room = max(1, most_pairs // len(kinds))
        self._caches = {kind: OffsetCache(*kind, templates, templates, room) for kind in kinds}

    def of(self, edge: RoleEdge) -> OffsetCache:
        """Return the cache that judges an edge."""
        return self._caches[edge.window, edge.threshold]

    def recode(self, code: CodeArray) -> None:
        """Follow a change of template codes; -1 is forgotten."""
        for cache in self._caches.values():
            cache.recode(code, code)

    @property
    def look_ups(self) -> LookUps:
        """Counts of all caches."""
        total = LookUps()
        for cache in self._caches.values():
            total = total.plus(cache.look_ups)
        return total

    @property
    def look_ups_done(self) -> LookUps:
        """Counts that stay when the caches go."""
        return replace(self.look_ups, pairs=0)
