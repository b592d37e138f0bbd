"""timing_join: the exact join of two frames, the default of all timing joins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from coincide.detections import Detections
from coincide.difference import match_probabilities
from coincide.events import Events, SortedEvents, sorted_events
from coincide.histogram import FloatArray
from coincide.pairs import Pairs
from coincide.satisfaction_table import SatisfactionTable
from coincide.timing_join.labels import area_codes, effective_rule, sensor_codes
from coincide.timing_join.matching import Block, PositionArray, Probe, candidates, matching_pairs_among
from coincide.timing_join.probe_bounds import ProbeBounds
from coincide.timing_join.sensor_rule import SensorRule, checked_sensor_rule
from coincide.window import Window

PROBING_ROWS = 32_768
IN_ORDER = -1  # ref of every row of a frame whose rows are their own positions


def timing_join(
    a: Detections, b: Detections | None, window: Window, threshold: float, sensors: SensorRule = "different"
) -> Pairs:
    """Pairs with P(lo <= Xb - Xa <= hi) >= threshold.

    Sorted searches find the range of partners of each event; only where templates are mixed are pairs tested.

    Parameters
    ----------
    a, b : Detections
        Rows in any order; time-ordered ones are faster. `b` None joins `a` with itself: with a symmetric window
        each pair of rows counts once, the one that comes first by (detected_at, sensor, position) is on the left;
        with another window both orientations are tried.
    window : Window
        Closed at both ends.
    threshold : float
        In (0, 1].
    sensors : {"different", "same", "any"}
        Which sensors the two events may come from. Detections without a sensor differ from all others.

    Returns
    -------
    Pairs
        Positions of the rows in `a` and `b`, int64, sorted by left, then right.

    Raises
    ------
    CoincideError
        A threshold or rule that does not exist, or frames that do not fit each other.

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> imb = Detections([41_374_000], [Histogram.uniform(-0.05, 0.05)])
    >>> baksan = Detections([71_818_000], [Histogram.uniform(-54, 2)])
    >>> pairs = timing_join(imb, baksan, Window(10), threshold=0.3)
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.probability.round(4).tolist()
    ([0], [0], [0.3571])
    """
    join = _BatchJoin.of(a, b, window, threshold, sensors)
    blocks = list(join.blocks())
    if not blocks:
        return Pairs.none()
    left, right = (np.concatenate(columns) if len(columns) > 1 else columns[0] for columns in zip(*blocks, strict=True))
    if not join.in_order:
        order = np.lexsort((right, left))
        left, right = left[order], right[order]
    return Pairs(left, right, join.probabilities(left, right))


def timing_join_blocks(
    a: Detections, b: Detections | None, window: Window, threshold: float, sensors: SensorRule = "different"
) -> Iterator[Pairs]:
    """`timing_join` in parts of about 64k pairs, for answers that need not fit in memory.

    Parameters are those of `timing_join`. Parts come in the order of the left row's area and time.

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> a = Detections(range(1000), [Histogram.point()])
    >>> sum(len(pairs) for pairs in timing_join_blocks(a, a, Window(0.0001), threshold=1))
    190900
    """
    join = _BatchJoin.of(a, b, window, threshold, sensors)
    for left, right in join.blocks():
        yield Pairs(left, right, join.probabilities(left, right))


@dataclass(frozen=True, eq=False)
class _BatchJoin:
    """Two sorted frames, their table and what the kernel is to look for."""

    a: Detections
    b: Detections
    table: SatisfactionTable
    probe: Probe
    is_self_join: bool
    in_order: bool

    @classmethod
    def of(
        cls, a: Detections, b: Detections | None, window: Window, threshold: float, sensors: SensorRule
    ) -> _BatchJoin:
        partner = a if b is None else b
        table = SatisfactionTable.build(a.templates, partner.templates, window, threshold)
        events, others = _sorted_frames(a, b)
        rule = effective_rule(checked_sensor_rule(sensors), events.sensor, others.sensor)
        unordered = b is None and window.is_symmetric
        bounds = ProbeBounds.of_a(table, least_us=0) if unordered else ProbeBounds.of_a(table)
        in_order = all(_is_in_order(side) for side in (events, others))
        return cls(a, partner, table, Probe(events, others, bounds, rule), b is None, in_order)

    def blocks(self) -> Iterator[Block]:
        """Positions in the frames as they were given."""
        pairs = self._sorted_blocks()
        if self.in_order:
            return pairs
        left, right = self.probe.events, self.probe.stored
        return ((_positions(left, rows), _positions(right, at)) for rows, at in pairs)

    def probabilities(self, left: PositionArray, right: PositionArray) -> Callable[[], FloatArray]:
        """Return the computation of the pairs' probabilities."""

        def compute() -> FloatArray:
            a, b, table = self.a, self.b, self.table
            u_index, v_index = (side.astype(np.int64) for side in (a.template_index[left], b.template_index[right]))
            offset_us = b.detected_at_us[right] - a.detected_at_us[left]
            return match_probabilities(list(table.us), list(table.vs), u_index, v_index, offset_us, table.window)

        return compute

    def _sorted_blocks(self) -> Iterator[Block]:
        """Positions in the sorted events; part by part, so that every array in between fits in a core's cache."""
        for first in range(0, len(self.probe.events), PROBING_ROWS):
            part, offset = self.probe.part(first, first + PROBING_ROWS)
            if len(part.stored) == 0:
                continue
            start, stop = candidates(part)
            if self.is_self_join and self.table.window.is_symmetric:
                after_itself = np.arange(first + 1 - offset, first + 1 - offset + len(start))
                start = np.maximum(start, after_itself)
            for rows, at in matching_pairs_among(part, start, stop):
                yield from self._apart(rows + first, at + offset)

    def _apart(self, rows: PositionArray, at: PositionArray) -> Iterator[Block]:
        """Leave out an event's pair with itself."""
        if self.is_self_join and not self.table.window.is_symmetric:
            apart = at != rows
            rows, at = rows[apart], at[apart]
        yield rows, at


def _sorted_frames(a: Detections, b: Detections | None) -> tuple[Events, SortedEvents]:
    frames = [a] if b is None else [a, b]
    sides = [
        Events(
            area, frame.detected_at_us, frame.template_index, sensor, np.broadcast_to(np.int64(IN_ORDER), len(frame))
        )
        for frame, area, sensor in zip(frames, area_codes(frames), sensor_codes(frames), strict=True)
    ]
    if b is None:
        events = _in_role_order(sides[0])
        return events, sorted_events(events)
    return _sorted(sides[0]), sorted_events(_sorted(sides[1]))


def _sorted(events: Events) -> Events:
    return events if events.is_sorted else _numbered(events).sorted()


def _in_role_order(events: Events) -> Events:
    """Sort by (area, detected_at, sensor, position)."""
    by_time = _sorted(events)
    same = (by_time.detected_at_us[1:] == by_time.detected_at_us[:-1]) & (by_time.area[1:] == by_time.area[:-1])
    if not (same & (by_time.sensor[1:] < by_time.sensor[:-1])).any():
        return by_time
    return _numbered(events).take(np.lexsort((events.sensor, events.detected_at_us, events.area)))


def _numbered(events: Events) -> Events:
    """Give each row its position in the frame as ref; frames that are in order do without."""
    return replace(events, ref=np.arange(len(events)))


def _is_in_order(side: Events | SortedEvents) -> bool:
    return len(side) == 0 or bool(side.ref[0] == IN_ORDER)


def _positions(side: Events | SortedEvents, rows: PositionArray) -> PositionArray:
    return rows if _is_in_order(side) else side.ref[rows]
