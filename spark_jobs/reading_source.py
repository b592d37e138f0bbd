"""ReadingSource: the readings of one stream for the queries that read alike, area by area."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from coincide.sliding.run_rule import RunRule
from coincide.sliding.shared_extents import SharedExtents
from spark_jobs.active_readings import ActiveReadings
from spark_jobs.areas import Areas
from spark_jobs.events import EventColumns
from spark_jobs.reading_columns import ReadingColumns


@dataclass(frozen=True)
class SourceKey:
    """What queries must have in common to share readings."""

    stream: str
    by: tuple[str, ...]
    value: str
    is_number: bool
    activation_seq: int

    @classmethod
    def of(cls, active: ActiveReadings) -> SourceKey:
        """Return that of a query in force."""
        query = active.query
        return cls(query.stream, query.by, query.value, query.reads_numbers, active.activation_seq)


class ReadingSource:
    """Readings from a query's activation on; nothing that it keeps changes an answer.

    Parameters
    ----------
    key : SourceKey
    rules : iterable of RunRule
        Of the queries that share it.
    """

    def __init__(self, key: SourceKey, rules: Iterable[RunRule]) -> None:
        self.key = key
        self.rules = frozenset(rules)
        self.columns = ReadingColumns(key.by, key.value, is_number=key.is_number)
        self.eager = dict.fromkeys(self.rules, False)
        self._extents: dict[int, SharedExtents] = {}

    def insert(self, rows: EventColumns, stream: int, areas: Areas) -> None:
        """Take the readings among new rows; `stream` is the code of the source's stream."""
        ours = (rows.stream == stream) & (rows.seq >= self.key.activation_seq)
        for area in np.unique(rows.area[ours]).tolist():
            readings = self.columns.read(rows, np.flatnonzero(ours & (rows.area == area)), areas)
            if area not in self._extents:
                self._extents[area] = SharedExtents(self.eager)
            self._extents[area].add(readings)

    def rebuild(self, rows: EventColumns, stream: int, areas: Areas) -> None:
        """Take exactly the readings among these rows."""
        self._extents = {}
        self.insert(rows, stream, areas)

    def areas(self) -> list[int]:
        """Return the codes of the areas of which there is something."""
        return list(self._extents)

    def extents(self, area: int) -> SharedExtents:
        """Return what there is of an area."""
        return self._extents[area]
