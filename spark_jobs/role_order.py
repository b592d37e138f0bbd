"""Role order: which member plays which of several roles that nothing tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from coincide.arrays import PositionArray
from spark_jobs.areas import Areas
from spark_jobs.events import EventColumns


@dataclass(frozen=True, eq=False)
class RoleOrder:
    """Orders members by (detected_at, sensor, id); they are positions in `rows`."""

    rows: EventColumns
    areas: Areas

    def key(self, at: int) -> tuple[int, str, str]:
        """Return what a member is ordered by."""
        return int(self.rows.detected_at_us[at]), *self._name(at)

    def ordered(self, one: PositionArray, other: PositionArray) -> tuple[PositionArray, PositionArray]:
        """Swap those of two columns of members that are not in order."""
        detected_at_us = self.rows.detected_at_us
        swap = detected_at_us[one] > detected_at_us[other]
        for tie in np.flatnonzero(detected_at_us[one] == detected_at_us[other]):
            swap[tie] = self._name(one[tie]) > self._name(other[tie])
        return np.where(swap, other, one), np.where(swap, one, other)

    def columns(self, members: list[PositionArray], alike: Sequence[Sequence[int]]) -> list[PositionArray]:
        """Order the members of each group of roles, column by column (a bubble sort of whole columns)."""
        members = list(members)
        for group in alike:
            for last in range(len(group), 1, -1):
                for a, b in pairwise(group[:last]):
                    members[a], members[b] = self.ordered(members[a], members[b])
        return members

    def _name(self, at: int | np.intp) -> tuple[str, str]:
        return self.areas.sensor_of(self.rows.sensor[at]).name, self.rows.ids[int(at)]
