"""RoleBatches: the detections that may play each role of a query, joined as the query asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coincide.arrays.kinds import Int64Array
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections
from coincide.joins.progress import Progress
from coincide.joins.search.work import WHATEVER_IT_TAKES, SearchWork
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.joins.tuples.tuple_blocks import Where
from coincide.joins.tuples.tuple_join import window_join, window_join_blocks
from coincide.queries.joins.join_query import Query
from coincide.slides import TimeSlides, time_slides
from coincide.slides.sliding import MOST_MATCHES

Asked = tuple[
    Mapping[str, Detections], ConstraintGraph, Mapping[str, Int64Array] | None, float | None, Where | None, SensorRule
]


@dataclass(frozen=True, eq=False)
class RoleBatches:
    """What may play each role, and how rows of two sources are kept from meeting themselves.

    Attributes
    ----------
    query : Query
    batches : mapping of str to Detections
        Of each role.
    keys : mapping of str to Int64Array, or None
        The values of each role's detections that have to be equal, as codes.
    where : callable or None
        Whether no row plays two roles, of tuples of positions; None where none can.
    """

    query: Query
    batches: Mapping[str, Detections]
    keys: Mapping[str, Int64Array] | None
    where: Where | None

    def blocks(self, progress: Progress | None = None) -> Iterator[Tuples]:
        """Yield the matches of a query in which no role is optional."""
        return window_join_blocks(*self._asked, progress=progress)

    def sets(self, progress: Progress | None = None, work: SearchWork = WHATEVER_IT_TAKES) -> Tuples:
        """Return the matches of a query with `at_least`, which takes no `where`."""
        at_least, most = self.query.at_least, self._max_candidates
        return window_join(*self._asked, at_least=at_least, max_candidates=most, progress=progress, work=work)

    def slides(
        self,
        count: int,
        progress: Progress | None,
        *,
        least_step_s: float | None = None,
        most_matches: int = MOST_MATCHES,
    ) -> TimeSlides:
        """Return what so many time slides count."""
        return time_slides(
            *self._asked,
            at_least=self.query.at_least,
            max_candidates=self._max_candidates,
            slides=count,
            least_step_s=least_step_s,
            most_matches=most_matches,
            progress=progress,
        )

    @property
    def _asked(self) -> Asked:
        query = self.query
        return self.batches, query.graph, self.keys, query.joint_threshold, self.where, query.sensors

    @property
    def _max_candidates(self) -> int:
        return self.query.limits.max_candidates_per_detection or MOST_CANDIDATES
