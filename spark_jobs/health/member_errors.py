"""How the errors of some members of matches fit their templates; a sample, so that the work is bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import FloatArray, PositionArray
from coincide.joins.tuples.set_order import ABSENT
from coincide.learning.consensus import LEAST_MEMBERS
from coincide.learning.drift import levels, others_say, part_of
from spark_jobs.health.health_table import NOBODY, HealthTable
from spark_jobs.rows.areas import Areas
from spark_jobs.rows.event_table import EventColumns, VerifiedTemplates

MOST_MEMBERS = 256  # that one batch looks at, about 2 ms if each has a template of its own
REMEMBERED = 4_096  # detections that are not judged again, when they are members of another match


@dataclass
class MemberErrors:
    """Judges members of matches by what the other members say, and counts their levels in the table of health."""

    table: HealthTable
    areas: Areas
    templates: VerifiedTemplates
    streams: Sequence[str]
    _left: int = MOST_MEMBERS
    _judged: set[int] = field(default_factory=set)
    _in_order: deque[int] = field(default_factory=deque)

    def begin(self) -> None:
        """Begin a batch."""
        self._left = MOST_MEMBERS

    def take(self, members: PositionArray, rows: EventColumns) -> None:
        """Look at some of a query's matches, spread evenly over them; `members` are positions in `rows`, (n, roles)."""
        large = members[(members != ABSENT).sum(axis=1) > LEAST_MEMBERS]
        most = self._left // members.shape[1]
        if not len(large) or not most:
            return
        chosen = large[:: -(-len(large) // most)]
        self._left -= chosen.size
        position, error_s, uncertainty_s = self._errors(chosen, rows)
        seq, first = np.unique(rows.seq[position], return_index=True)
        new = [nth for nth, number in zip(first.tolist(), seq.tolist(), strict=True) if self._is_new(number)]
        self._count(position[new], error_s[new], uncertainty_s[new], rows)

    def _errors(self, members: PositionArray, rows: EventColumns) -> tuple[PositionArray, FloatArray, FloatArray]:
        """Return the members that the others know well enough: position, error and how uncertain it is."""
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
        said = others_say(since_us + mean_us, std_us, rows.sensor[members].astype(np.int64), is_present)
        fit = is_present & (said.std_us <= std_us)  # False where nobody says it
        return members[fit], (said.at_us - since_us)[fit] / 1e6, said.std_us[fit] / 1e6

    def _is_new(self, seq: int) -> bool:
        if seq in self._judged:
            return False
        self._judged.add(seq)
        self._in_order.append(seq)
        if len(self._in_order) > REMEMBERED:
            self._judged.remove(self._in_order.popleft())
        return True

    def _count(
        self, position: PositionArray, error_s: FloatArray, uncertainty_s: FloatArray, rows: EventColumns
    ) -> None:
        named, which = self.templates.among(rows.template[position])
        parts = part_of(levels(named, which, error_s, uncertainty_s)).tolist()
        for at, template, part in zip(position.tolist(), which.tolist(), parts, strict=True):
            area, sensor = self.areas.area_of(int(rows.area[at])), self.areas.sensor_of(int(rows.sensor[at]))
            row = self.table.known_row(area.name, sensor.name, self.streams[rows.stream[at]])
            if row != NOBODY:
                self.table.add_level(row, named[template].id, part)
