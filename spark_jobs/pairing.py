"""Pairing: which pairs of detections a query matches, each found when its second member arrives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from coincide.arrays import BoolArray, Int64Array, PositionArray
from coincide.buffer import Buffer
from coincide.events import Events
from coincide.offset_cache import MOST_PAIRS, LookUps, OffsetCache
from coincide.query import Query
from coincide.timing_join.matching import Probe, matching_pairs
from coincide.timing_join.probe_bounds import ProbeBounds
from spark_jobs.areas import Areas
from spark_jobs.control import ActiveQuery
from spark_jobs.events import EventColumns, EventTable
from spark_jobs.templates import Templates


@dataclass(frozen=True)
class FoundPairs:
    """Pairs as positions in the event table, member of the first role and of the second; shape (n,)."""

    first: PositionArray
    second: PositionArray

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def joined(cls, parts: list[FoundPairs]) -> FoundPairs:
        """Concatenate."""
        return cls(*(np.concatenate([getattr(part, side) for part in parts]) for side in ("first", "second")))

    def in_order(self) -> FoundPairs:
        """Sort by the arrival of the later member, then of the earlier one, then by role."""
        later, earlier = np.maximum(self.first, self.second), np.minimum(self.first, self.second)
        order = np.lexsort((self.first, earlier, later))
        return FoundPairs(self.first[order], self.second[order])


class Pairing:
    """Finds pairs among the buffered detections: one sorted buffer for each stream, shared by all queries.

    Rows are buffered under their earliest time, not the reported one: how far apart partners may be then depends on
    how long templates are, which streams declare, and not on how far from the reported time one of them lies.
    """

    def __init__(
        self, streams: Mapping[str, int], areas: Areas, templates: Templates, most_pairs: int = MOST_PAIRS
    ) -> None:
        self._streams = streams
        self._areas = areas
        self._templates = templates
        self._most_pairs = most_pairs
        self._buffers = [Buffer() for _ in streams]
        self._offsets: dict[str, tuple[Query, OffsetCache]] = {}
        self._look_ups_before = LookUps()

    def insert(self, rows: EventColumns) -> list[Events]:
        """Buffer new rows; return them by stream code."""
        earliest_us = rows.detected_at_us + self._templates.earliest_us[rows.template]
        new = [_events(rows, earliest_us, rows.stream == stream) for stream in range(len(self._buffers))]
        for buffer, events in zip(self._buffers, new, strict=True):
            buffer.insert(events)
        return new

    def rebuild(self, rows: EventColumns) -> None:
        """Buffer exactly the given rows."""
        self._buffers = [Buffer() for _ in self._buffers]
        self.insert(rows)

    def forget(self, templates: list[int], queries: Iterable[str]) -> None:
        """Forget what was computed for template codes that no row has any more, and for all but these queries."""
        for query in self._offsets.keys() - set(queries):
            self._retire(query)
        code = np.arange(len(self._templates.histograms), dtype=np.int32)
        code[templates] = -1
        for _, offsets in self._offsets.values():
            offsets.recode(code, code)

    @property
    def look_ups(self) -> LookUps:
        """What the caches of template pairs have done since this process began, all queries together."""
        total = self._look_ups_before
        for _, offsets in self._offsets.values():
            total = total.plus(offsets.look_ups)
        return total

    def find(self, active: ActiveQuery, new: list[Events], table: EventTable) -> FoundPairs:
        """Find the pairs whose later member is among the `new` rows, which are buffered already."""
        query, offsets = active.query, self._qualifying(active.query)
        first, second = (self._streams[stream] for stream in query.streams)
        found = [self._probe(active, new[first], second, offsets, probing_first=True, table=table)]
        if not (query.is_self_join and query.window.is_symmetric):  # there one orientation finds every pair
            found.append(self._probe(active, new[second], first, offsets, probing_first=False, table=table))
        return FoundPairs.joined(found)

    def _qualifying(self, query: Query) -> OffsetCache:
        known = self._offsets.get(query.id)
        if known is not None and known[0] != query:
            self._retire(query.id)
            known = None
        if known is None:
            offsets = OffsetCache(
                query.window, query.within[0].threshold, self._templates, self._templates, self._most_pairs
            )
            known = self._offsets[query.id] = (query, offsets)
        return known[1]

    def _retire(self, query: str) -> None:
        """Forget what a query had computed, but not that it was."""
        _, offsets = self._offsets.pop(query)
        self._look_ups_before = self._look_ups_before.plus(replace(offsets.look_ups, pairs=0))

    def _probe(
        self,
        active: ActiveQuery,
        events: Events,
        stored: int,
        offsets: OffsetCache,
        *,
        probing_first: bool,
        table: EventTable,
    ) -> FoundPairs:
        probe = Probe(
            events=events,
            stored=self._buffers[stored].view(),
            bounds=self._outer_bounds(active.query, probing_first=probing_first),
            sensors=active.query.sensors,
            since_ref=active.activation_seq,
        )
        pairs = [FoundPairs(np.empty(0, np.intp), np.empty(0, np.intp))]
        for row, at in matching_pairs(probe):
            one, other = probe.events.ref[row], probe.stored.ref[at]
            earlier = other < one
            one_at, other_at = table.positions(one[earlier]), table.positions(other[earlier])
            first, second = (one_at, other_at) if probing_first else (other_at, one_at)
            pairs.append(self._qualified(active.query, offsets, first, second, table.columns))
        return FoundPairs.joined(pairs)

    def _qualified(
        self,
        query: Query,
        offsets: OffsetCache,
        first: PositionArray,
        second: PositionArray,
        rows: EventColumns,
    ) -> FoundPairs:
        if query.is_self_join and query.window.is_symmetric:
            first, second = self._in_role_order(first, second, rows)
        offset_us = rows.detected_at_us[second] - rows.detected_at_us[first]
        qualifies = offsets.contain(rows.template[first], rows.template[second], offset_us)
        return FoundPairs(first[qualifies], second[qualifies])

    def _in_role_order(
        self, one: PositionArray, other: PositionArray, rows: EventColumns
    ) -> tuple[PositionArray, PositionArray]:
        """Order the members of a symmetric self-join by (detected_at, sensor, id)."""
        swap = rows.detected_at_us[one] > rows.detected_at_us[other]
        for tie in np.flatnonzero(rows.detected_at_us[one] == rows.detected_at_us[other]):
            swap[tie] = self._name(one[tie], rows) > self._name(other[tie], rows)
        return np.where(swap, other, one), np.where(swap, one, other)

    def _name(self, at: np.intp, rows: EventColumns) -> tuple[str, str]:
        return self._areas.sensor_of(rows.sensor[at]).name, rows.ids[at]

    def _outer_bounds(self, query: Query, *, probing_first: bool) -> ProbeBounds:
        """Return how far apart earliest times may be, stored minus probing, by probing template."""
        window = query.window if probing_first else query.window.swapped()
        length = self._templates.latest_us - self._templates.earliest_us
        lo = np.full_like(length, window.lo_us - 1 - length.max())
        hi = window.hi_us + 1 + length
        return ProbeBounds(
            lo_us=lo[:, None],
            hi_us=hi[:, None],
            outer_lo_us=lo,
            outer_hi_us=hi,
            sure_lo_us=hi,
            sure_hi_us=lo,
            table=None,
            probes_with_b=not probing_first,
        )


def _events(rows: EventColumns, time_us: Int64Array, which: BoolArray) -> Events:
    return Events(
        area=rows.area[which],
        detected_at_us=time_us[which],
        template=rows.template[which],
        sensor=rows.sensor[which],
        ref=rows.seq[which],
    )
