"""An extent and its runs in columns, updated by whole batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic

import numpy as np

from coincide.arrays.changes import Changes
from coincide.arrays.kinds import Int64Array, LabelArray
from coincide.arrays.order import stable_order_by
from coincide.coalescing.links import Link
from coincide.coalescing.runs import Label, RunChanges, Runs, with_plain_values
from coincide.coalescing.streams.borders import around, changed_runs, joined_columns, joined_runs, run_parts
from coincide.coalescing.streams.extent import ReadingBatch, WindowExtent
from coincide.coalescing.streams.linked_section import LinkedSection
from coincide.coalescing.streams.scopes import NONE, TimeScope, TupleScope, parts_before
from coincide.coalescing.streams.sections import NOTHING_YET, AnySection, Section, SectionPart, Sections


class _Columns(Generic[AnySection]):
    """The sections of an extent, and its scope."""

    def __init__(self, extent: WindowExtent, first: AnySection) -> None:
        self._scope: TimeScope | TupleScope
        if extent.duration_us is not None:
            self._scope = TimeScope(extent.duration_us, extent.per_group)
        else:
            self._scope = TupleScope(extent.size or 0, extent.per_group)
        self._sections = Sections(first)

    def __len__(self) -> int:
        return self._sections.count

    def fill(self, batch: ReadingBatch) -> tuple[Int64Array, Int64Array]:
        """Take readings; return which are late, and by how much."""
        admitted = self._scope.admit(self._sections, batch)
        for part in admitted.parts:
            part.section.write(part.merged, part.leaving)
        self._sections.tidy(admitted.parts)
        return admitted.late, admitted.late_by_us

    def readings(self) -> ReadingBatch:
        """Return the readings, by (group, ts, id)."""
        readings = joined_readings([section.readings() for section in self._sections])
        return readings if len(self._sections) == 1 else readings.take(np.argsort(readings.group, kind="stable"))

    def slices(self, rows: int) -> Iterator[ReadingBatch]:
        """Yield all readings by time, about so many at once; in between, readings may come and leave."""
        after_us = NOTHING_YET
        while len((later := self._sections.some_after(after_us)).ts_us):
            in_order = later.take(np.argsort(later.ts_us, kind="stable"))
            after_us = int(in_order.ts_us[:rows][-1])
            yield in_order.take(np.flatnonzero(in_order.ts_us <= after_us))

    def readings_in(self, group: Label, start_us: int, end_us: int) -> tuple[int, Any, Label]:
        """See `EagerCoalescing.readings_in`."""
        ts, _, value, ref, _ = joined_readings([section.readings_of(group) for section in self._sections])
        counted = np.flatnonzero(np.append(True, np.diff(ts) > 0))
        first = np.searchsorted(ts[counted], start_us, side="right") - 1
        stop = np.searchsorted(ts[counted], end_us)
        return int(stop - first), value[counted].tolist()[first], ref[counted].tolist()[stop - 1]


class ColumnarReadings(_Columns[Section]):
    """Readings without runs."""

    def __init__(self, extent: WindowExtent, link: Link) -> None:
        super().__init__(extent, Section(NOTHING_YET, link, is_shared=not extent.per_group))

    def push(self, batch: ReadingBatch) -> Changes[Runs]:
        """Take readings; say which are late."""
        return Changes(Runs.of([]), Runs.of([]), *self.fill(batch))


class ColumnarExtent(_Columns[LinkedSection]):
    """Readings and their runs; a batch touches those at the ends and at the fronts of its groups alone."""

    def __init__(self, extent: WindowExtent, link: Link) -> None:
        super().__init__(extent, LinkedSection(NOTHING_YET, link, is_shared=not extent.per_group))
        self._link = link

    def push(self, batch: ReadingBatch) -> Changes[Runs]:
        """Take readings; see `EagerCoalescing.push`."""
        admitted = self._scope.admit(self._sections, batch)
        inserted, retracted = self._update(admitted.parts)
        self._sections.tidy(admitted.parts)
        return Changes(with_plain_values(inserted), with_plain_values(retracted), admitted.late, admitted.late_by_us)

    def drop_before(self, us: int, changes: RunChanges) -> None:
        """Drop the readings before an instant."""
        parts = parts_before(self._sections, us)
        if parts:
            inserted, retracted = self._update(parts)
            self._sections.tidy(parts)
            changes.include(Changes(with_plain_values(inserted), with_plain_values(retracted), NONE, NONE))

    def scan(self) -> Runs:
        """Return all runs, by group and start."""
        if len(self._sections) == 1:
            section = self._sections.first
            return with_plain_values(section.named(section.runs()))
        labels = np.unique(joined_columns([section.segments.labels for section in self._sections]))
        runs = run_parts(self._sections, labels, inner=True).stitched(self._link)
        return with_plain_values(replace(runs, group=labels[runs.group]))

    def _update(self, parts: list[SectionPart[LinkedSection]]) -> tuple[Runs, Runs]:
        """Write the readings, drop those that leave; return the runs inserted and retracted."""
        if len(self._sections) == 1:
            (part,) = parts
            inserted, retracted = part.section.update(part.merged, part.leaving)
            return part.section.named(inserted), part.section.named(retracted)
        touched = [part.section.segments.labels[part.touched] for part in parts]
        labels = np.unique(joined_columns([*touched, self._sections.first.segments.labels[:0]]))
        is_inside = all(self._keeps_borders(part) for part in parts)
        near = [] if is_inside else around(list(self._sections), [part.section for part in parts], labels)
        before = run_parts(near, labels) if near else None
        changes = self._local_changes(parts, labels)
        if before is not None:
            changes = changed_runs(changes, (before, run_parts(near, labels)), self._link)
        inserted, retracted = (runs.take(stable_order_by(runs.group, runs.start_us)) for runs in changes)
        return replace(inserted, group=labels[inserted.group]), replace(retracted, group=labels[retracted.group])

    def _keeps_borders(self, part: SectionPart[LinkedSection]) -> bool:
        section = part.section
        is_first, is_last = section is self._sections.first, section is self._sections.last
        return section.keeps_borders(part.merged, part.leaving, is_first=is_first, is_last=is_last)

    @staticmethod
    def _local_changes(parts: list[SectionPart[LinkedSection]], labels: LabelArray) -> tuple[Runs, Runs]:
        """Write into each section; return the runs inserted and retracted there; groups are positions in `labels`."""
        inserted, retracted = [Runs.of([])], [Runs.of([])]
        for part in parts:
            changes = part.section.update(part.merged, part.leaving)
            for runs, of_all in zip(changes, (inserted, retracted), strict=True):
                of_all.append(replace(runs, group=np.searchsorted(labels, part.section.named(runs).group)))
        return joined_runs(inserted), joined_runs(retracted)


def joined_readings(parts: Sequence[ReadingBatch]) -> ReadingBatch:
    """Return the readings of all parts."""
    return ReadingBatch(*(joined_columns(columns) for columns in zip(*parts, strict=True)))
