"""SourceJudge: whether one source explains the members of tuples, and where it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, PositionArray
from coincide.fusion.matching.advisory_work import AdvisoryBudget
from coincide.fusion.matching.search_work import TooManyCandidatesError
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.row_codes import RowCodes
from coincide.joins.tuples.set_order import ABSENT
from coincide.places.place_columns import Places
from coincide.queries import Query
from coincide.queries.joins.one_source import OneSource
from coincide.sources import ReportSets, located_source
from coincide.sources.locating import MOST_MEMBERS
from coincide.wire.results.match_record import FEW_MEMBERS, TOO_MUCH_WORK, UnknownReason
from coincide.wire.results.source_place import SourcePlace

#: So many matches of one newest detection, and of one frame, are told their places: each takes about 20 ms.
MOST_PLACES = AdvisoryBudget(detection=8, frame=64)
MOST_TESTS = 4_000  # of sets with one last row: a second, where most are explained
MANY_PARTS = 30  # smallest sets of one row: fewer are quickly tested with all larger ones
NOT_PLACED = -1


@dataclass(frozen=True, eq=False)
class SourceJudge:
    """Judges tuples of one query, given as positions of their rows, (n, roles), `ABSENT` where there is no member."""

    query: Query
    asked: OneSource
    codes: RowCodes
    rows: EventColumns
    tests: Counter[int] = field(default_factory=Counter)
    large: dict[int, PositionArray] = field(default_factory=dict)  # a set that is explained, by its last row

    @classmethod
    def of(cls, query: Query, codes: RowCodes, rows: EventColumns) -> SourceJudge | None:
        """Return that of a query; None if it does not ask for a source."""
        return None if query.one_source is None else cls(query, query.one_source, codes, rows)

    def explains(self, members: PositionArray, check: Callable[[], None]) -> BoolArray:
        """Whether one source explains each tuple; one that is too small to determine a place counts so.

        `check` is called between blocks of work that take a second at most. TooManyCandidatesError: some row is the
        last of too many.
        """
        explained = np.ones(len(members), np.bool_)
        for at, chosen in _by_size(members):
            if chosen.shape[1] >= self.asked.rule.least_members:
                open_ = np.flatnonzero(~self._in_large(chosen))
                explained[at[open_]] = self._tested(chosen[open_], check)
                if chosen.shape[1] == self.asked.rule.least_members:
                    self._look_for_large(chosen[explained[at]], check)
        return explained

    def _tested(self, members: PositionArray, check: Callable[[], None]) -> BoolArray:
        """Whether one source explains each of some sets of one size."""
        self._count(members)
        kinds, explained = self._kinds(members), np.zeros(len(members), np.bool_)
        for kind in np.unique(kinds[kinds >= 0]).tolist():
            of_kind = kinds == kind
            explained[of_kind] = self.asked.test.explains(self._reports(members[of_kind]), check)
        return explained

    def _in_large(self, members: PositionArray) -> BoolArray:
        """Whether each set is part of one that is explained: then it is, too."""
        within = np.zeros(len(members), np.bool_)
        if self.large and len(members):
            last = members.max(axis=1)
            for row in np.unique(last).tolist():
                if row in self.large:
                    of_row = last == row
                    within[of_row] = np.isin(members[of_row], self.large[row]).all(axis=1)
        return within

    def _look_for_large(self, members: PositionArray, check: Callable[[], None]) -> None:
        """Note of each last row a large set that one source explains, as the smallest sets let guess: so its parts are.

        A set of k has 2^k parts. What a row's sets let guess depends on that row and those before it.
        """
        last = members.max(axis=1, initial=ABSENT)
        for row in np.unique(last).tolist():
            parts = members[last == row]
            if len(parts) < MANY_PARTS:
                continue
            pool = np.unique(parts)[None]
            if self._kinds(pool)[0] == NOT_PLACED or pool.shape[1] > MOST_MEMBERS:
                continue
            likely = pool[:, self.asked.test.likely(self._reports(parts), self._reports(pool))]
            if likely.shape[1] > self.asked.rule.least_members and self._tested(likely, check)[0]:
                self.large[row] = likely[0]

    def places(
        self,
        members: PositionArray,
        accepted: AcceptedBatch,
        check: Callable[[], None],
        budget: AdvisoryBudget | None = None,
    ) -> list[tuple[SourcePlace | None, UnknownReason | None]]:
        """Return where the source of each tuple was, or why that is not told; in the order of the newest members.

        `budget` says how many are told; by default `MOST_PLACES`.
        """
        newest = self.rows.seq[members].max(axis=1, where=members != ABSENT, initial=-1)
        each_its_own = np.arange(len(members))
        affordable = (budget or MOST_PLACES).affords(
            np.ones(len(members)), each_its_own, newest, accepted.frames_of(newest)
        )
        told: list[tuple[SourcePlace | None, UnknownReason | None]] = []
        for of_tuple, is_affordable in zip(members, affordable.tolist(), strict=True):
            chosen = of_tuple[of_tuple != ABSENT]
            if len(chosen) < self.asked.rule.least_members:
                told.append((None, FEW_MEMBERS))
                continue
            check()
            is_placed = is_affordable and self._kinds(chosen[None])[0] != NOT_PLACED
            place = self._place(chosen) if is_placed else None
            told.append((place, None if place else TOO_MUCH_WORK))
        return told

    def _count(self, members: PositionArray) -> None:
        last, count = np.unique(members.max(axis=1), return_counts=True)
        self.tests.update(dict(zip(last.tolist(), count.tolist(), strict=True)))
        if max(self.tests.values(), default=0) > MOST_TESTS:
            raise TooManyCandidatesError

    def _place(self, members: PositionArray) -> SourcePlace | None:
        sets, rule = self._reports(members[None]), self.asked.rule
        places = Places(sets.places.kind, sets.places.coordinates[sets.at_place[0]])
        found = located_source(rule, places, sets.members(0), sets.detected_at_us[0].tolist())
        explained = None if found is None else self.asked.test.explained_by(sets, 0, [found.peak])
        if explained is None or found is None:
            return None
        return SourcePlace.of(explained.probability, found, in_plane=rule.dimensions == 2)

    def _kinds(self, members: PositionArray) -> CodeArray:
        """Return the kind of each tuple's places; `NOT_PLACED` where one is missing or they are of two kinds."""
        codes, index = np.unique(self.rows.place[members], return_inverse=True)
        numbers: dict[type, int] = {type(None): NOT_PLACED}
        of_code = [numbers.setdefault(type(self.codes.places.place(code)), len(numbers)) for code in codes.tolist()]
        kinds = np.array(of_code, np.int32)[index.reshape(members.shape)]
        return np.where((kinds == kinds[:, :1]).all(axis=1), kinds[:, 0], NOT_PLACED)

    def _reports(self, members: PositionArray) -> ReportSets:
        place, at_place = np.unique(self.rows.place[members], return_inverse=True)
        templates, template = self.codes.templates.among(self.rows.template[members].ravel())
        named = [self.codes.places.place(code) for code in place.tolist()]
        return ReportSets(
            Places.of([each for each in named if each is not None]),
            at_place.reshape(members.shape),
            templates,
            template.reshape(members.shape),
            self.rows.detected_at_us[members],
        )


def _by_size(members: PositionArray) -> Iterator[tuple[PositionArray, PositionArray]]:
    """Yield which tuples have how many members, and these, (n, size)."""
    present = members != ABSENT
    sizes = present.sum(axis=1)
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        yield at, members[at][present[at]].reshape(len(at), size)
