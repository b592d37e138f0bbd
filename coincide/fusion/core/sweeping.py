"""Sweeping: drop what no match to come can need, and evict the oldest rows beyond the cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray
from coincide.arrays.order import group_starts, stable_order
from coincide.fusion.core.shard_queries import ShardQueries
from coincide.fusion.rows.areas import Area, Areas
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.held_rows import HeldRows
from coincide.fusion.rows.kept_rows import KeptRows
from coincide.fusion.rows.row_codes import RowCodes
from coincide.wire.output_record import OutputRecord


class Swept(NamedTuple):
    """What a sweep has done beyond dropping rows."""

    ended: list[OutputRecord]  # what is final by it
    evicted: int
    freed_sensors: bool


@dataclass(frozen=True, eq=False)
class Sweeper:
    """Sweeps the rows of a shard, and the codes and queries that go with them."""

    rows: KeptRows
    held: HeldRows
    codes: RowCodes
    queries: ShardQueries

    def sweep(self) -> Swept:
        """Drop rows, ids, areas, sensors, templates and places that are not needed any more."""
        idle = self._idle_areas()
        keep = self._needed_rows(idle)
        evicted = self.rows.evict(keep)
        rows = self.rows.columns
        beyond = rows.where(rows.seq < self.rows.first_seq) if evicted else EventColumns.empty()
        self._drop_but(keep)
        self._forget_codes()
        ended = self.queries.settle(self.rows.columns, beyond, idle)
        self.held.drop(np.isin(self.held.columns.area, [area.code for area in idle]))
        for area in idle:
            self.codes.areas.forget(area)
        freed_sensors = self.codes.keep_sensors(self.rows.columns, self.held.columns)
        self.rows.note_sweep(len(self.codes.areas))
        return Swept([change.to_record() for change in ended], evicted, freed_sensors)

    def drop_needless_rows(self, stream: int | None = None) -> None:
        """Drop just the rows that are not needed by what is declared now, or that are of a stream which is to go.

        Which they are does not depend on when rows were swept before. So what is there when a declaration changes
        depends only on the detections before it.
        """
        keep = self._needed_rows()
        if stream is not None:
            keep &= self.rows.columns.stream != stream
            self.held.drop(self.held.columns.stream == stream)
        self._drop_but(keep)

    def forget_spare_codes(self) -> None:
        """Forget unused templates and places once they are many: of late and refused rows, which bring no sweep."""
        most = max(len(self.codes.templates), len(self.codes.places))
        if most - len(self.rows.table) - len(self.held.table) >= self.rows.limits.sweep_after:
            self._forget_codes()

    def _idle_areas(self) -> list[Area]:
        return self.codes.areas.idle(round(self.rows.limits.forget_area_after_s * 1e6))

    def _needed_rows(self, idle: Sequence[Area] = ()) -> BoolArray:
        """Which rows are needed and have not been evicted, but for those of idle areas."""
        rows = self.rows.columns
        keep = self.queries.needed(rows, self.codes)
        keep[: np.searchsorted(rows.seq, self.rows.first_seq)] = False
        if idle:
            keep &= ~np.isin(rows.area, [area.code for area in idle])
        return keep

    def _drop_but(self, keep: BoolArray) -> None:
        """Drop the other rows, and forget the ids of these and of late ones."""
        rows = self.rows.columns
        late = self.codes.on_time().is_late(rows.latest_us, rows.area, rows.stream)
        _forget_ids(rows, ~keep | late, self.codes.areas)
        if not keep.all():
            gone = rows.seq[~keep]
            self.rows.table.keep(keep)
            self.queries.drop(gone, self.rows.columns)

    def _forget_codes(self) -> None:
        """Give the templates and places of the rows left new codes, and let joins hold the rows under these."""
        rows, held = self.rows.columns, self.held.columns
        new_code, has_new_places = self.codes.keep_templates(rows, held), self.codes.keep_places(rows, held)
        if new_code is None and has_new_places:
            new_code = np.arange(len(self.codes.templates), dtype=np.int32)
        if new_code is not None:
            self.queries.recode(new_code, rows)


def _forget_ids(rows: EventColumns, gone: BoolArray, areas: Areas) -> None:
    """Let the sensors forget the ids of the rows that are `gone` (and still remembered)."""
    at = np.flatnonzero(gone & rows.remembered)
    at = at[stable_order(rows.sensor[at])]
    starts, ids = group_starts(rows.sensor[at]), list(map(rows.ids.__getitem__, at.tolist()))
    bounds = pairwise([*starts.tolist(), len(at)])
    for sensor, (start, stop) in zip(rows.sensor[at[starts]].tolist(), bounds, strict=True):
        remembered = areas.sensor_of(sensor).remembered
        for id_ in ids[start:stop]:
            del remembered[id_]
    rows.remembered[gone] = False
