"""JoinTask: what one task does, from Arrow tables of rows to Arrow batches of tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.chunks.chunk_joins import ChunkedQuery, PairQuery, TupleRows, owned_tuples
from coincide.joins.detections import Detections
from coincide.spark.arrow_columns import Columns, TemplateLabels, comparable_codes, refuse_nulls, taken, times_us, whole

PROBABILITY = "probability"
Take = Callable[[pa.Array, PositionArray], pa.Array]


class SideRows(NamedTuple):
    """Rows side by side: their columns, a number of the area or chunk of each, and whether the task owns it."""

    tables: Sequence[pa.Table]
    area: Sequence[Int64Array]
    owned: Sequence[BoolArray]


@dataclass(frozen=True)
class JoinTask:
    """The query, the templates, the columns that rows and answers have, and the one whose values members share.

    Workers get it with the function that they run: it is small, and all that they need besides rows.
    """

    query: ChunkedQuery
    templates: TemplateLabels
    columns: Columns
    key: str | None = None

    @property
    def names(self) -> list[str]:
        """Names of the answer's columns."""
        area = [] if self.columns.area is None else [self.columns.area]
        kept = [f"{role}_{name}" for role in self.query.roles for name in self.columns.kept]
        return [*area, *kept, *([PROBABILITY] if self.columns.probability else [])]

    @property
    def read(self) -> list[str]:
        """Names of the columns of labels that it needs: no more than the question does."""
        names = [self.columns.area, self.key, self.columns.template, *self.columns.kept]
        names += [self.columns.id] if self._plays_twice else []
        names += [self.columns.sensor] if self._needs_sensors else []
        return list(dict.fromkeys(name for name in names if name is not None))

    @property
    def _plays_twice(self) -> bool:
        """Whether a row may be two members, so that ids, and sensors before them, say which comes first."""
        return len(set(self.query.side_of_role)) < len(self.query.roles)

    @property
    def _needs_sensors(self) -> bool:
        return self._plays_twice or self.query.sensors != "any"

    def members(
        self, sides: Sequence[pa.Table], area: Sequence[Int64Array], owned: Sequence[BoolArray]
    ) -> Iterator[TupleRows]:
        """Yield the tuples of rows, side by side: their area, or chunk, and whether the task owns them."""
        yield from owned_tuples(self.query, self._detections(sides, area), owned)

    def kept(self, sides: Sequence[pa.Table]) -> list[dict[str, pa.Array]]:
        """Return the columns that answers take their values from."""
        names = [*self.columns.kept, *([] if self.columns.area is None else [self.columns.area])]
        return [{name: whole(table[name]) for name in names} for table in sides]

    def arrays(self, members: TupleRows, kept: Sequence[dict[str, pa.Array]], take: Take = taken) -> list[pa.Array]:
        """Return the columns of some tuples; `take` makes those of labels."""
        roles = list(zip(members.rows, self.query.side_of_role, strict=True))
        areas = [] if self.columns.area is None else [self._areas(self.columns.area, roles, kept, take)]
        labels = [take(kept[side][name], rows) for rows, side in roles for name in self.columns.kept]
        return [*areas, *labels, *([pa.array(members.probability())] if self.columns.probability else [])]

    def _detections(self, sides: Sequence[pa.Table], chunk: Sequence[Int64Array]) -> list[Detections]:
        sensors = self._sensors(sides)
        ids = self._ids(sides)
        made = []
        for table, area, sensor, id_ in zip(sides, chunk, sensors, ids, strict=True):
            if self.columns.id in table.column_names:
                refuse_nulls(table, self.columns.id)
            histograms, codes = self.templates.histograms, self.templates.codes(table)
            if isinstance(self.query, PairQuery):
                histograms, codes = self.templates.used(codes)
            at_us = times_us(table, self.columns.detected_at_us)
            made.append(Detections(at_us, histograms, codes, area, sensor, id=id_))
        return made

    def _ids(self, sides: Sequence[pa.Table]) -> Sequence[LabelArray | None]:
        return self._codes(self.columns.id if self._plays_twice else None, sides)

    def _sensors(self, sides: Sequence[pa.Table]) -> Sequence[LabelArray | None]:
        return self._codes(self.columns.sensor if self._needs_sensors else None, sides)

    def _codes(self, name: str | None, sides: Sequence[pa.Table]) -> Sequence[LabelArray | None]:
        if name is None:
            return [None] * len(sides)
        for table in sides:
            refuse_nulls(table, name)
        return comparable_codes([table[name] for table in sides])

    def _areas(
        self, name: str, roles: Sequence[tuple[PositionArray, int]], kept: Sequence[dict[str, pa.Array]], take: Take
    ) -> pa.Array:
        """Take the area from the first member that is there."""
        rows, side = roles[0]
        if not (rows < 0).any():
            return take(kept[side][name], rows)
        return pc.coalesce(*(taken(kept[side][name], rows) for rows, side in roles))
