"""Limits of a query, judged row by row: the answers are the same however the rows are cut into batches.

A row that breaks a limit suspends the query in its area, from that row on. The area's earlier matches stay. A search
takes many rows at once and counts all their candidates before it judges any. Where there are too many it is done again
with half of the rows, down to the one row that breaks the limit: so no row costs more than its limit allows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.fusion.control.control import EVERYWHERE, ActiveQuery, SecondCount
from coincide.fusion.control.limits import Limits
from coincide.fusion.matching.match_verdicts import MatchTuples
from coincide.fusion.matching.search_work import CandidateCount, TooManyCandidatesError
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.joins.tuples.set_order import ABSENT
from coincide.wire.status_record import Suspension

MOST_PAIRS_HELD = 262_144  # of several rows at once, so that memory stays bounded
MOST_TUPLES_HELD = 32_768  # fewer, since to find them may take 10 us each
MOST_AREAS = 16  # a query that is suspended in more is suspended everywhere, so that its state stays small

Find = Callable[[Int64Array, CandidateCount], MatchTuples]
"""Searches new rows, by their sequence numbers, and counts the candidates."""


@dataclass(frozen=True, eq=False)
class RowLimits:
    """The limits of one query in one batch; what is used of them is kept in the query's own state."""

    active: ActiveQuery
    limits: Limits
    areas: Areas
    accepted: AcceptedBatch
    first_position: int  # in the table, of the accepted rows

    def matches(self, find: Find) -> MatchTuples:
        """Return the matches of the batch's rows, each found by `find`, up to the rows that break a limit."""
        parts: list[MatchTuples] = []
        chunks = [self.accepted.rows.seq]
        while chunks:
            seqs = self._open(chunks.pop())
            if len(seqs) == 0:
                continue
            most = self._too_many[1]
            count = CandidateCount(most, None if len(seqs) == 1 else max(most, self._most_held))
            try:
                tuples = find(seqs, count)
            except TooManyCandidatesError:
                half = len(seqs) // 2
                if half:
                    chunks += [seqs[half:], seqs[:half]]
                else:
                    self._suspend(int(seqs[0]) - self._first_seq, *self._too_many)
            else:
                parts.append(self._within_limits(tuples))
            finally:
                self.active.work.candidates += count.total
        return MatchTuples.joined(parts, len(self.active.query.roles))

    @cached_property
    def _first_seq(self) -> int:
        return int(self.accepted.rows.seq[0])

    @cached_property
    def _too_many(self) -> tuple[str, int, int]:
        """What a row breaks that completes too many candidates; those of a pair query are its matches."""
        is_pair = len(self.active.query.roles) == 2
        name = "max_matches_per_detection" if is_pair else "max_candidates_per_detection"
        return name, self._allowed(name), self._allowed(name) + 1

    @cached_property
    def _most_held(self) -> int:
        query = self.active.query
        return MOST_PAIRS_HELD if len(query.roles) == 2 or query.at_least is not None else MOST_TUPLES_HELD

    @cached_property
    def _most_matches(self) -> int:
        return self._allowed("max_matches_per_detection")

    @cached_property
    def _most_in_second(self) -> int:
        return self._allowed("max_matches_per_s")

    def _allowed(self, name: str) -> int:
        """Return the limit of that name, the query's own or else the system's."""
        allowed: int = getattr(self.active.query.limits, name) or getattr(self.limits, name)
        return allowed

    def _open(self, seqs: Int64Array) -> Int64Array:
        """Leave out rows of areas where the query is suspended."""
        if not self.active.suspensions:
            return seqs
        if self.active.is_suspended:
            return seqs[:0]
        suspended = [area.code for name in self.active.suspensions if (area := self.areas.get(name)) is not None]
        return seqs[~np.isin(self.accepted.rows.area[seqs - self._first_seq], suspended)]

    def _within_limits(self, tuples: MatchTuples) -> MatchTuples:
        """Count what each row completes, in the order of arrival, and leave out what comes after a broken limit."""
        if not len(tuples.members):
            return tuples
        rows = self.accepted.rows
        completed_by = tuples.members.max(axis=1, initial=ABSENT) - self.first_position
        matches = np.bincount(completed_by, minlength=len(rows))
        keep: BoolArray = np.ones(len(rows), np.bool_)
        for row in np.flatnonzero(matches).tolist():
            area = self.areas.area_of(rows.area[row]).name
            if area not in self.active.suspensions and not self.active.is_suspended:
                broken = self._broken(row, area, int(matches[row]))
                if broken is None:
                    continue
                self._suspend(row, *broken)
            keep[row] = False
        return tuples if keep.all() else tuples.take(keep[completed_by])

    def _broken(self, row: int, area: str, matches: int) -> tuple[str, int, int] | None:
        """Count a row's matches to its second; return the limit that it breaks, what is allowed and what is reached."""
        if matches > self._most_matches:
            return "max_matches_per_detection", self._most_matches, self._most_matches + 1
        listened_s, heard_s = self.accepted.clock_s[row].tolist()
        known, count = self.active.match_counts.get(area), matches
        if known is not None and (known.listened_s, known.heard_s) == (listened_s, heard_s):
            count += known.matches
        if count > self._most_in_second:
            return "max_matches_per_s", self._most_in_second, count
        self.active.match_counts[area] = SecondCount(listened_s, heard_s, count)
        return None

    def _suspend(self, row: int, limit: str, allowed: int, reached: int) -> None:
        """Suspend the query from the row on, in its area, or everywhere once it is suspended in many."""
        rows, suspensions = self.accepted.rows, self.active.suspensions
        sensor, area = self.areas.sensor_of(rows.sensor[row]).name, self.areas.area_of(rows.area[row]).name
        why = Suspension(
            limit, allowed, reached, int(rows.received_at_us[row]), area=area, sensor=sensor, id=rows.ids[row]
        )
        suspensions[area if len(suspensions) < MOST_AREAS else EVERYWHERE] = why


def forget_past_seconds(active: ActiveQuery, areas: Areas) -> None:
    """Forget the counts of seconds that are over; call it at the end of a batch."""
    if not active.match_counts:
        return
    known = ((name, count, areas.get(name)) for name, count in active.match_counts.items())
    active.match_counts = {
        name: count
        for name, count, area in known
        if area is not None and areas.clock_of(area).seconds[0] == count.listened_s
    }
