"""Enumeration: the one kernel of all window joins, from sorted events to tuples of rows.

Each event of the root role has one range of rows in every other role. Roles join one after the other. Every member
shrinks the ranges of the roles still to come, and a partial tuple that leaves one of them empty goes at once. So no
intermediate result outgrows what the constraints allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, PositionArray
from coincide.arrays.range_expansion import expanded_beside, expanded_range_blocks, pairs_in
from coincide.constraints.conditions import MemberRules, allowed
from coincide.joins.progress import Progress, unheard
from coincide.joins.tuples.candidates import LookUp, RoleBounds, RoleEvents, RowRanges, reduced

ROOT_ROWS = 32_768  # so that what is looked up for them stays in a core's cache

PartialTuples = dict[int, PositionArray]  # row of each role that has joined
MANY = 3  # candidates an event; with more it pays to look first which events can be members at all
NEAR = 4  # roles whose numbers of candidates differ by no more than this factor join in order: tuples come sorted


@dataclass(frozen=True, eq=False)
class Enumeration:
    """All tuples of one event a role that satisfy every edge."""

    roles: Sequence[RoleEvents]
    bounds: RoleBounds
    rules: MemberRules

    def tuples(
        self, root: int, events: RoleEvents | None = None, progress: Progress = unheard
    ) -> Iterator[PartialTuples]:
        """Yield blocks of tuples, the root's rows rising: for each role the position in its stream, int64 (n,).

        The events of `root` are tried one by one: all, or only the given ones.
        """
        probing = self.roles[root] if events is None else events
        if self.bounds.is_empty:
            return
        for first in range(0, len(probing), ROOT_ROWS):
            progress(first / len(probing))
            part = self._around(root, probing.rows(first, min(first + ROOT_ROWS, len(probing))))
            if all(len(role) for role in part.roles):
                yield from part.blocks()

    def _around(self, root: int, events: RoleEvents) -> _Part:
        """Return the enumeration of the stretches that some sorted root events can reach."""
        reached = self._reached_by_one if len(events) == 1 else self._reached_by_many
        stretches = []
        for role, stored in enumerate(self.roles):
            if role == root:
                stretches.append(events)
                continue
            start, stop = reached(root, events, role)
            stretches.append(stored.rows(start, max(start, stop)))
        return _Part(stretches, self.bounds, self.rules, root)

    def _reached_by_many(self, root: int, events: RoleEvents, role: int) -> tuple[int, int]:
        ends, area = events.time_us[[0, -1]], events.area[[0, -1]]
        lo_us, hi_us = self.bounds.span_us(root, role)
        start, stop = self.roles[role].within(area, ends + lo_us, ends + hi_us)
        return int(start[0]), int(stop[1])

    def _reached_by_one(self, root: int, event: RoleEvents, role: int) -> tuple[int, int]:
        start, stop = LookUp(event, self.roles[role], *self.bounds.range_us(root, role)).all_ranges()
        return int(start[0]), int(stop[0])


@dataclass(frozen=True, eq=False)
class _Part(Enumeration):
    root: int

    def blocks(self) -> Iterator[PartialTuples]:
        ranges = self._reached_from_root()
        if max(pairs_in(*each) for each in ranges.values()) > MANY * sum(map(len, self.roles)):
            part = replace(self, roles=reduced(self.roles, self.bounds, self.root))
            yield from part._tuples(part._reached_from_root())
        else:
            yield from self._tuples(ranges)

    def _tuples(self, ranges: dict[int, RowRanges]) -> Iterator[PartialTuples]:
        partial, ranges = self._alive({self.root: np.arange(len(self.roles[self.root]))}, ranges)
        yield from self._joined(partial, ranges, self._order(ranges))

    def _reached_from_root(self) -> dict[int, RowRanges]:
        every = np.arange(len(self.roles[self.root]))
        if len(every) > 1:
            return self._reached_from(self.root, every, None, {})
        others = {role: events for role, events in enumerate(self.roles) if role != self.root}
        whole = {role: (np.zeros(1, np.intp), np.array([len(events)])) for role, events in others.items()}
        return {role: self._beside_twin(self.root, role, every, ranges) for role, ranges in whole.items()}

    def _order(self, ranges: Mapping[int, RowRanges]) -> list[int]:
        """Return the roles along the edges; among several the one with by far the fewest candidates comes first."""
        totals = {role: pairs_in(*each) for role, each in ranges.items()}
        are_near = max(totals.values()) <= NEAR * min(totals.values())
        in_turn = sorted(totals) if are_near else sorted(totals, key=totals.__getitem__)
        joined = [self.root]
        while in_turn:
            linked = next(role for role in in_turn if any((other, role) in self.bounds.edges for other in joined))
            in_turn.remove(linked)
            joined.append(linked)
        return joined[1:]

    def _joined(
        self, partial: PartialTuples, ranges: Mapping[int, RowRanges], order: Sequence[int]
    ) -> Iterator[PartialTuples]:
        if not order:
            yield {role: self.roles[role].positions(rows) for role, rows in partial.items()}
            return
        role, *rest = order
        if not rest and not self._is_tested(role):
            yield from self._written_out(partial, role, *ranges[role])
            return
        for rows, at in expanded_range_blocks(*ranges[role]):
            joined = {other: column.take(rows) for other, column in partial.items()}
            keep = self._tested(joined, role, at)
            joined[role] = at
            extended = rows
            if keep is not None:
                joined, extended = {each: column[keep] for each, column in joined.items()}, rows[keep]
            if len(extended):
                left = {other: ranges[other] for other in rest}
                ranges_left = self._reached_from(role, joined[role], extended, left)
                yield from self._joined(*self._alive(joined, ranges_left), rest)

    def _written_out(
        self, partial: PartialTuples, role: int, start: PositionArray, stop: PositionArray
    ) -> Iterator[PartialTuples]:
        """Join the last role where every candidate may: nothing is left but to write the tuples."""
        columns = [self.roles[other].positions(rows) for other, rows in partial.items()]
        for *joined, at in expanded_beside(columns, start, stop):
            yield dict(zip((*partial, role), (*joined, self.roles[role].positions(at)), strict=True))

    def _reached_from(
        self, role: int, at: PositionArray, rows: PositionArray | None, before: Mapping[int, RowRanges]
    ) -> dict[int, RowRanges]:
        """Return the ranges of the roles to come once `role` has joined with its rows `at`.

        Each extends one of the `rows` of the partial tuples, which have the ranges `before`; `rows` is None at first.
        """
        ranges = {}
        for other in before if rows is not None else [each for each in range(len(self.roles)) if each != role]:
            start, stop = self._beside_twin(role, other, at, self._look_up(role, other).ranges(at))
            if rows is not None:
                start = np.maximum(start, before[other][0].take(rows))
                stop = np.minimum(stop, before[other][1].take(rows))
            ranges[other] = start, stop
        return ranges

    def _beside_twin(self, role: int, other: int, at: PositionArray, ranges: RowRanges) -> RowRanges:
        """Leave only rows after (or before) a twin that has joined, where twins are in order."""
        pair = (min(role, other), max(role, other))
        if pair not in self.rules.in_order:
            return ranges
        positions, (start, stop) = self.roles[role].positions(at), ranges
        if role < other:
            return np.maximum(start, self.roles[other].row_at(positions + 1)), stop
        return start, np.minimum(stop, self.roles[other].row_at(positions))

    def _alive(
        self, partial: PartialTuples, ranges: dict[int, RowRanges]
    ) -> tuple[PartialTuples, dict[int, RowRanges]]:
        """Leave out partial tuples that some role to come has no candidate for."""
        if not ranges:
            return partial, ranges
        keep = np.logical_and.reduce([start < stop for start, stop in ranges.values()])
        if keep.all():
            return partial, ranges
        return (
            {role: rows[keep] for role, rows in partial.items()},
            {role: (start[keep], stop[keep]) for role, (start, stop) in ranges.items()},
        )

    def _is_tested(self, role: int) -> bool:
        """Whether some candidates of a role may not join."""
        rules = self.rules
        if rules.since_ref > 0 or rules.root_arrived_last or rules.sensors != "any":
            return True
        if any(rules.must_differ(role, other) for other in range(len(self.roles))):
            return True
        return any(self.bounds.test(other, role) is not None for other in range(len(self.roles)) if other != role)

    def _tested(self, partial: PartialTuples, role: int, at: PositionArray) -> BoolArray | None:
        """Which rows `at` of a role may join the partial tuples beside them; None if all may."""
        tests = [self._test(other, rows, role, at) for other, rows in partial.items()]
        if self.rules.since_ref > 0:
            tests.append(self.roles[role].stored.ref[at] >= self.rules.since_ref)
        if self.rules.root_arrived_last:
            tests.append(self.roles[role].stored.ref[at] < self.roles[self.root].stored.ref[partial[self.root]])
        needed = [test for test in tests if test is not None]
        return np.logical_and.reduce(needed) if needed else None

    def _test(self, other: int, rows: PositionArray, role: int, at: PositionArray) -> BoolArray | None:
        """Which pairs of two roles' rows may be members of one tuple; None if all may."""
        one, new = self.roles[other], self.roles[role]
        keep = None
        if self.rules.sensors != "any":
            keep = allowed(self.rules.sensors, one.stored.sensor[rows], new.stored.sensor[at])
        if self.rules.must_differ(role, other):
            apart = self._are_apart(one, rows, new, at)
            keep = apart if keep is None else keep & apart
        edge = self.bounds.test(other, role)
        if edge is not None:
            offset_us = new.time_us[at] - one.time_us[rows]
            qualifies = edge.qualify(one.stored.template[rows], new.stored.template[at], offset_us)
            keep = qualifies if keep is None else keep & qualifies
        return keep

    def _are_apart(self, one: RoleEvents, rows: PositionArray, new: RoleEvents, at: PositionArray) -> BoolArray:
        """Whether two roles' rows are different events; roles of one stream may have buffers of their own."""
        names = (one.stored.ref[rows], new.stored.ref[at])
        if not self.rules.root_arrived_last:  # refs of a batch may all be the same, but its roles share their rows
            names = one.positions(rows), new.positions(at)
        apart: BoolArray = names[0] != names[1]
        return apart

    def _look_up(self, role: int, other: int) -> LookUp:
        known = self._look_ups.get((role, other))
        if known is None:
            known = LookUp(self.roles[role], self.roles[other], *self.bounds.range_us(role, other))
            self._look_ups[role, other] = known
        return known

    @cached_property
    def _look_ups(self) -> dict[tuple[int, int], LookUp]:
        return {}
