"""How the errors of some members of matches fit their templates; a sample, so that the work is bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import CodeArray, FloatArray, PositionArray
from coincide.constraints.graph import ConstraintGraph
from coincide.fusion.health.health_table import NOBODY, HealthTable
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.joins.tuples.set_order import ABSENT
from coincide.learning.consensus import LEAST_MEMBERS
from coincide.learning.drift import deviations, levels, others_doubt, others_say, part_of
from coincide.templates.clocked import clock_of
from coincide.templates.histogram import Histogram

MOST_MEMBERS = 256  # that one batch looks at, about 2 ms if each has a template of its own
NO_CLOCK = 0
REMEMBERED = 4_096  # detections that are not judged again, when they are members of another match


@dataclass
class MemberErrors:
    """Judges members of matches by what the other members say, and counts their levels in the table of health.

    A report is not judged if its sensor had another one so near that the other members may have meant that one. Members
    on its clock are no others: they err with it.
    """

    table: HealthTable
    areas: Areas
    templates: VerifiedTemplates
    streams: Sequence[str]
    _left: int = MOST_MEMBERS
    _judged: set[int] = field(default_factory=set)
    _in_order: deque[int] = field(default_factory=deque)
    _newest_us: dict[int, int] = field(default_factory=dict)  # of the reports that were looked at, by row of the table

    def begin(self) -> None:
        """Begin a batch."""
        self._left = MOST_MEMBERS

    def take(self, members: PositionArray, rows: EventColumns, graph: ConstraintGraph) -> None:
        """Look at some of a query's matches, spread evenly over them; `members` are positions in `rows`, (n, roles)."""
        large = members[(members != ABSENT).sum(axis=1) > LEAST_MEMBERS]
        most = self._left // members.shape[1]
        if not len(large) or not most:
            return
        chosen = large[:: -(-len(large) // most)]
        self._left -= chosen.size
        position, error_s, uncertainty_s = self._errors(chosen, rows)
        near_us = max(edge.window.hi_us - edge.window.lo_us for edge in graph.edges)
        alone = np.flatnonzero(~np.isin(position, crowded(large, rows, near_us)))
        row = {nth: self._row_to_tell(int(position[nth]), rows, near_us) for nth in alone.tolist()}
        told = [nth for nth in row if row[nth] != NOBODY]
        self._count([row[nth] for nth in told], rows.template[position[told]], error_s[told], uncertainty_s[told])

    def _errors(self, members: PositionArray, rows: EventColumns) -> tuple[PositionArray, FloatArray, FloatArray]:
        """Return the members that the others know well enough: position, error, and how wrong the others may be."""
        is_present = members != ABSENT
        template, at_us = rows.template[members], rows.detected_at_us[members]
        codes, which = np.unique(template, return_inverse=True)
        known = [self.templates.histogram(code) for code in codes.tolist()]
        mean_us, std_us = (
            np.array([getattr(each, name) for each in known])[which.reshape(template.shape)] * 1e6
            for name in ("mean_s", "std_s")
        )
        newest_us = np.where(is_present, at_us, at_us.min()).max(axis=1)
        since_us = (at_us - newest_us[:, None]).astype(np.float64)
        clock = _clock_numbers(known)[which.reshape(template.shape)]
        left_out = np.where(clock == NO_CLOCK, rows.sensor[members], -clock)  # together: all on a clock share its error
        of_others = std_us, left_out.astype(np.int64), is_present
        said = others_say(since_us + mean_us, *of_others)
        fit = is_present & (said.std_us <= std_us)  # False where nobody says it
        deviation_us = np.stack([deviations(each) for each in known])[which.reshape(template.shape)] * 1e6
        doubt_us = others_doubt(deviation_us, *of_others)
        return members[fit], (said.at_us - since_us)[fit] / 1e6, doubt_us[fit] / 1e6

    def _row_to_tell(self, position: int, rows: EventColumns, near_us: int) -> int:
        """Return the row of the table that a detection tells something of.

        `NOBODY` if it was looked at before, or the one of its sensor that was looked at before it was near.
        """
        if not self._is_new(int(rows.seq[position])):
            return NOBODY
        row, at_us = self._row(position, rows), int(rows.detected_at_us[position])
        before_us, self._newest_us[row] = self._newest_us.get(row), at_us
        return row if before_us is None or abs(at_us - before_us) > near_us else NOBODY

    def _is_new(self, seq: int) -> bool:
        if seq in self._judged:
            return False
        self._judged.add(seq)
        self._in_order.append(seq)
        if len(self._in_order) > REMEMBERED:
            self._judged.remove(self._in_order.popleft())
        return True

    def _row(self, position: int, rows: EventColumns) -> int:
        """Return the row of the table that has the sensor and stream of a detection."""
        area, sensor = self.areas.area_of(int(rows.area[position])), self.areas.sensor_of(int(rows.sensor[position]))
        return self.table.known_row(area.name, sensor.name, self.streams[rows.stream[position]])

    def _count(self, rows: Sequence[int], template: CodeArray, error_s: FloatArray, uncertainty_s: FloatArray) -> None:
        """Count the level of each error in its row of the table."""
        named, which = self.templates.among(template)
        parts = part_of(levels(named, which, error_s, uncertainty_s)).tolist()
        for row, nth, part in zip(rows, which.tolist(), parts, strict=True):
            self.table.add_level(row, named[nth].id, part)


def _clock_numbers(templates: Sequence[Histogram]) -> CodeArray:
    """Return a number for the clock of each template, `NO_CLOCK` where it is on none."""
    numbers: dict[str | None, int] = {None: NO_CLOCK}
    return np.array([numbers.setdefault(clock_of(each), len(numbers)) for each in templates], np.int32)


def crowded(members: PositionArray, rows: EventColumns, near_us: int) -> PositionArray:
    """Return the members whose sensor has another of the same stream among them that is near."""
    position: PositionArray = np.unique(members[members != ABSENT])
    order = np.lexsort((rows.detected_at_us[position], rows.stream[position], rows.sensor[position]))
    position = position[order]
    is_same = (np.diff(rows.sensor[position]) == 0) & (np.diff(rows.stream[position]) == 0)
    is_near = is_same & (np.diff(rows.detected_at_us[position]) <= near_us)
    either: PositionArray = position[np.append(is_near, False) | np.append(False, is_near)]
    return either
