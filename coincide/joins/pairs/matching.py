"""Matching: the one kernel of all our timing joins, from sorted events to pairs of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.arrays.range_expansion import expanded_range_blocks, pairs_in
from coincide.constraints.conditions import UNKNOWN_SENSOR, SensorRule, allowed
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events, SortedEvents
from coincide.joins.keys import KeyArray, Search, brief, search_in
from coincide.joins.probe_bounds import ProbeBounds

Block = tuple[PositionArray, PositionArray]  # probing row, stored row

TEST_ALL_BELOW = 20  # partners per event; with more it pays to test only the margins of each range


@dataclass(frozen=True, eq=False)
class Probe:
    """Events that look for partners among stored ones; pairs name their rows. Sorted events are faster.

    `bounds` are by the template codes of both. Stored events with a ref below `since_ref` do not count, and with
    `earlier_only` neither do those that came after the probing one.
    """

    events: Events
    stored: SortedEvents
    bounds: ProbeBounds
    sensors: SensorRule
    since_ref: int = 0
    earlier_only: bool = False

    @classmethod
    def into(
        cls,
        buffer: Buffer,
        events: Events,
        bounds: ProbeBounds,
        sensors: SensorRule,
        since_ref: int = 0,
        *,
        earlier_only: bool = False,
    ) -> Probe:
        """Probe with events into what a buffer has near them."""
        near = buffer.near(events, *_outer_us(events, bounds))
        return cls(events, near, bounds, sensors, since_ref, earlier_only)

    @cached_property
    def asks_sensors(self) -> bool:
        """Whether sensors decide anything: unknown ones differ from all others."""
        unknown = bool((brief(self.events.sensor) == UNKNOWN_SENSOR).all())
        return self.sensors == "same" or (self.sensors == "different" and not unknown)

    @property
    def is_tested(self) -> bool:
        """Whether some candidates may not match."""
        return self.since_ref > 0 or self.earlier_only or self.asks_sensors or not self.bounds.is_sharp

    @cached_property
    def search(self) -> Search:
        """Search for keys among those of the stored events."""
        return search_in(self.stored.keys, len(self.events))

    @cached_property
    def keys(self) -> KeyArray:
        """Keys of the probing events as the stored events write them: to subtract, not to search."""
        return self.stored.codec.encode(self.events.area, self.events.detected_at_us)

    def part(self, first: int, last: int) -> tuple[Probe, int]:
        """Probe with rows first : last of sorted events, and the stored rows around them; also the first of those."""
        events = self.events.rows(first, last)
        lo_us, hi_us = self.bounds.outer_us
        ends, time_us = events.area[[0, -1]], events.detected_at_us
        lower, upper = self.stored.codec.encode_bound(ends, np.array([time_us[0] + lo_us, time_us[-1] + hi_us]))
        start = int(np.searchsorted(self.stored.keys, lower, side="left"))
        stop = int(np.searchsorted(self.stored.keys, upper, side="right"))
        return replace(self, events=events, stored=self.stored.rows(start, stop)), start


def matching_pairs(probe: Probe) -> Iterator[Block]:
    """Pairs of rows (probing, stored) in blocks of about 64k candidates, by probing row, then stored row."""
    if len(probe.events) == 0 or len(probe.stored) == 0:
        return
    yield from matching_pairs_among(probe, *candidates(probe))


def candidates(probe: Probe) -> tuple[PositionArray, PositionArray]:
    """For each probing row, the stored rows start : stop that may match it; all others do not."""
    return _ranges(probe, *_outer_us(probe.events, probe.bounds))


def matching_pairs_among(probe: Probe, start: PositionArray, stop: PositionArray) -> Iterator[Block]:
    """`matching_pairs` with the candidates of each probing row given as stored rows start : stop."""
    total = pairs_in(start, stop)
    if total == 0:
        return
    margins = None if probe.bounds.is_sharp else _sure_ranges(probe, start, stop, total)
    for candidate_rows, candidates_at in expanded_range_blocks(start, stop):
        rows, at = _possible(probe, candidate_rows, candidates_at)
        keep = _tested(probe, rows, at, margins)
        yield (rows, at) if keep is None else (rows[keep], at[keep])


def _ranges(probe: Probe, lo_us: Int64Array, hi_us: Int64Array) -> tuple[PositionArray, PositionArray]:
    """Find the stored rows whose time lies in [lo, hi] of each probing event's time, in its area."""
    events, stored = probe.events, probe.stored
    codec = stored.codec
    lower = codec.encode_bound(events.area, events.detected_at_us + lo_us)
    upper = codec.encode_bound(events.area, events.detected_at_us + hi_us)
    return probe.search(lower, "left"), probe.search(upper, "right")


def _outer_us(events: Events, bounds: ProbeBounds) -> tuple[Int64Array, Int64Array]:
    return _by_template(events, bounds.outer_lo_us), _by_template(events, bounds.outer_hi_us)


def _by_template(events: Events, bound_us: Int64Array) -> Int64Array:
    """Return each probing event's bound; a single one is left to broadcasting."""
    return bound_us if len(bound_us) == 1 else bound_us[events.template]


def _sure_ranges(
    probe: Probe, start: PositionArray, stop: PositionArray, total: int
) -> tuple[PositionArray, PositionArray] | None:
    """Find the stored rows that need no test, if there are any and enough candidates for that to pay."""
    if total < TEST_ALL_BELOW * len(start) or not probe.bounds.has_sure:
        return None
    events, bounds = probe.events, probe.bounds
    lo_us, hi_us = _by_template(events, bounds.sure_lo_us), _by_template(events, bounds.sure_hi_us)
    sure_start, sure_stop = _ranges(probe, lo_us, hi_us)
    sure_start = np.clip(sure_start, start, stop)
    return sure_start, np.clip(np.where(lo_us <= hi_us, sure_stop, sure_start), sure_start, stop)


def _possible(probe: Probe, rows: PositionArray, at: PositionArray) -> Block:
    """Leave out candidates at offsets that are not possible, if bounds by stored template tell: most of them are."""
    if probe.bounds.stored_lo_us is None:
        return rows, at
    is_possible = _offsets_us(probe, rows, at) >= probe.bounds.stored_lo_us[probe.stored.template[at]]
    return rows[is_possible], at[is_possible]


def _tested(
    probe: Probe, rows: PositionArray, at: PositionArray, margins: tuple[PositionArray, PositionArray] | None
) -> BoolArray | None:
    """Which candidates match; None if all do."""
    if not len(at):
        return None
    keep = None
    if probe.since_ref > 0:
        keep = _both(keep, probe.stored.ref[at] >= probe.since_ref)
    if probe.asks_sensors:
        keep = _both(keep, allowed(probe.sensors, probe.events.sensor[rows], probe.stored.sensor[at]))
    if probe.earlier_only:
        keep = _both(keep, probe.stored.ref[at] < probe.events.ref[rows])
    if keep is not None and probe.bounds.judge is not None:  # to judge costs more than to pick
        kept = np.flatnonzero(keep)
        keep[kept] = _qualify(probe, rows[kept], at[kept], margins)
    elif not probe.bounds.is_sharp:
        keep = _both(keep, _qualify(probe, rows, at, margins))
    return None if keep is None or keep.all() else keep


def _qualify(
    probe: Probe, rows: PositionArray, at: PositionArray, margins: tuple[PositionArray, PositionArray] | None
) -> BoolArray:
    if margins is None:
        return _offsets_qualify(probe, rows, at)
    sure_start, sure_stop = margins
    matches = (at >= sure_start[rows]) & (at < sure_stop[rows])
    unsure = np.flatnonzero(~matches)
    matches[unsure] = _offsets_qualify(probe, rows[unsure], at[unsure])
    return matches


def _offsets_qualify(probe: Probe, rows: PositionArray, at: PositionArray) -> BoolArray:
    templates = probe.events.template[rows], probe.stored.template[at]
    return probe.bounds.qualify(*templates, _offsets_us(probe, rows, at))


def _offsets_us(probe: Probe, rows: PositionArray, at: PositionArray) -> Int64Array:
    return probe.stored.codec.offset_us(probe.stored.keys[at], probe.keys[rows])


def _both(one: BoolArray | None, other: BoolArray | None) -> BoolArray | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
