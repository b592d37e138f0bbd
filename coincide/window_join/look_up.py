"""LookUp: where events of one role find their candidates of another."""

from __future__ import annotations

from coincide.arrays import Int64Array, PositionArray
from coincide.window_join.role_events import RoleEvents

Ranges = tuple[PositionArray, PositionArray]  # rows start : stop


class LookUp:
    """Where each event of one role finds its candidates of another: worked out for all once that is less work."""

    def __init__(self, events: RoleEvents, others: RoleEvents, lo_us: Int64Array, hi_us: Int64Array) -> None:
        self._events, self._others, self._lo_us, self._hi_us = events, others, lo_us, hi_us
        self._all: Ranges | None = None
        self._asked = 0

    def ranges(self, rows: PositionArray) -> Ranges:
        """Rows start : stop of the other role for each of these rows."""
        self._asked += len(rows)
        if self._all is None and self._asked < len(self._events):
            return self._found(rows)
        start, stop = self.all_ranges()
        return start.take(rows), stop.take(rows)

    def all_ranges(self) -> Ranges:
        """Return `ranges` of all events."""
        if self._all is None:
            self._all = self._found(slice(None))
        return self._all

    def _found(self, rows: PositionArray | slice) -> Ranges:
        events = self._events
        lo_us, hi_us = self._lo_us, self._hi_us
        if len(lo_us) > 1:
            template = events.stored.template[rows]
            lo_us, hi_us = lo_us[template], hi_us[template]
        time_us = events.time_us[rows]
        return self._others.within(events.area[rows], time_us + lo_us, time_us + hi_us)
