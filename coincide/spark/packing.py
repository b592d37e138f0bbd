"""Packing: rows go to their tasks as Arrow tables, a table for each bucket of chunks that sees them.

Spark moves a few rows instead of millions, and nobody counts rows before. Such a row has the table in bytes, or says
where in a file it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from coincide.arrays.kinds import Int64Array
from coincide.arrays.order import group_starts, stable_order, stable_order_by
from coincide.chunks.time_cells import Sight, TimeCells, TimeSlice, buckets_of, time_slices, word_hashes
from coincide.spark.arrow_columns import TemplateLabels, divided_by_key, numbers, refuse_nulls, whole
from coincide.spark.join_task import SideRows
from coincide.spark.packed_tables import PackedTable, PlacesRead, TableAddresses, batch_of, tables_of

PACKED_ROWS = 1_000_000  # so many rows of a partition are packed at once
TIME, SHIFT, TEMPLATE = "_time_us", "_shift", "_template"


@dataclass(frozen=True)
class Packer:
    """Packs the rows of one side.

    Tables have the column `TIME` and those of labels; packed ones have `SHIFT` too, and `TEMPLATE` instead of labels
    of templates unless they are `kept`. With a `folder` on a path that all workers see, tables go into files there.
    """

    side: int
    sight: Sight
    cells: TimeCells
    buckets: int
    area: str | None
    templates: TemplateLabels
    kept: tuple[str, ...]
    folder: Path | None = None
    time: str = TIME  # what the user calls the times

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack the rows of a partition, about a million at once."""
        with TableAddresses(self.folder) as places:
            for table in _some_rows(batches):
                yield self.packed(table, places)

    def packed(self, table: pa.Table, places: TableAddresses) -> pa.RecordBatch:
        """Return a row for each bucket that sees some of these rows."""
        refuse_nulls(table, TIME, called=self.time)
        refuse_nulls(table, *([] if self.area is None else [self.area]))
        time_us = numbers(table[TIME], np.int64)
        seen = self.cells.seen(time_us, self.sight)
        cell = self.cells.number(time_us)[seen.row] + seen.shift
        table = self._coded(table)
        bucket = buckets_of(self._area_hashes(table)[seen.row], cell, self.buckets)
        order = stable_order(bucket)
        table = table.take(pa.array(seen.row[order]))
        table = table.append_column(SHIFT, pa.array(seen.shift[order].astype(np.int8)))
        bounds = np.searchsorted(bucket[order], np.arange(self.buckets + 1)).tolist()
        of_buckets = [(each, start, end - start) for each, (start, end) in enumerate(pairwise(bounds)) if end > start]
        return batch_of(
            [
                PackedTable(each, self.side, rows, places.put(_with_own_words(table.slice(start, rows), self.area)))
                for each, start, rows in of_buckets
            ]
        )

    def _area_hashes(self, table: pa.Table) -> Int64Array:
        if self.area is None:
            return np.zeros(len(table), np.int64)
        coded = whole(table[self.area])
        hashes: Int64Array = word_hashes(coded.dictionary.cast(pa.string()).to_pylist())
        return hashes.take(numbers(coded.indices, np.int64))

    def _coded(self, table: pa.Table) -> pa.Table:
        """Return all columns in one piece, with numbers for areas and templates."""
        if self.templates.column is not None:
            table = table.append_column(TEMPLATE, pa.array(self.templates.codes(table)))
            if self.templates.column not in self.kept:
                table = table.drop_columns([self.templates.column])
        if self.area is not None:
            table = _with(table, self.area, table[self.area].dictionary_encode())
        return table.combine_chunks()


def _with(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _some_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= PACKED_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if any(batch.num_rows for batch in waiting):
        yield pa.Table.from_batches(waiting)


def _with_own_words(table: pa.Table, area: str | None) -> pa.Table:
    """Return a table with no more words for areas than it needs, about."""
    if area is None or len((coded := whole(table[area])).dictionary) <= len(coded):
        return table
    return _with(table, area, coded.dictionary_decode().dictionary_encode())


Packed = Mapping[int, Sequence[pa.Table]]
"""Tables of some buckets by side."""


def buckets_together(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[Packed]:
    """Yield the tables of a partition whose rows are sorted by bucket; small buckets together, up to so many rows.

    Only the tables of what is yielded next are held. A bucket of more rows is yielded as it is.
    """
    read, waiting, count = PlacesRead(), list[PackedTable](), 0
    for _, of_bucket in groupby(tables_of(batches), key=lambda table: table.bucket):
        tables = list(of_bucket)
        more = sum(table.rows for table in tables)
        if waiting and count + more > rows:
            yield _by_side(waiting, read)
            waiting, count = [], 0
        waiting += tables
        count += more
    if waiting:
        yield _by_side(waiting, read)


def _by_side(tables: Iterable[PackedTable], read: PlacesRead) -> Packed:
    of_side: dict[int, list[pa.Table]] = {}
    for table in tables:
        of_side.setdefault(table.side, []).append(read.read(table.place))
    return of_side


@dataclass(frozen=True)
class Unpacker:
    """Makes rows to be joined of packed ones; `sight` is what a cell sees of each side, and only equal keys meet."""

    cells: TimeCells
    sight: Sequence[Sight]
    area: str | None
    key: str | None
    rows: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[SideRows]:
        """Yield rows to be joined together, `rows` of them at a time or so: those of some buckets, or a part of one.

        What is held besides is the packed rows of one bucket, and a time for each of them where it is cut.
        """
        for packed in buckets_together(batches, self.rows):
            empty = next(iter(packed.values()))[0].slice(0, 0)
            tables = [pa.concat_tables(packed.get(side, [empty])) for side in range(len(self.sight))]
            if sum(map(len, tables)) <= self.rows:
                yield self._sides(tables, None)
            else:
                yield from self._slices(tables)

    def _slices(self, tables: Sequence[pa.Table]) -> Iterator[SideRows]:
        times = [numbers(table[TIME], np.int64) for table in tables]
        for part in time_slices(np.concatenate(times), self.rows, self.cells.reach_us):
            seen = [part.seen(time_us, sight) for time_us, sight in zip(times, self.sight, strict=True)]
            yield self._sides([table.filter(pa.array(mask)) for table, mask in zip(tables, seen, strict=True)], part)

    def _sides(self, tables: Sequence[pa.Table], part: TimeSlice | None) -> SideRows:
        """Sort each side by its chunks, then by time; the times in `TIME` then count from the beginning of the cell."""
        tables, codes = _area_codes(tables, self.area)
        codes = divided_by_key(codes, tables, self.key)
        shifts = [numbers(table[SHIFT], np.int64) for table in tables]
        times = [numbers(table[TIME], np.int64) for table in tables]
        of_cell = [self.cells.number(time_us) + shift for time_us, shift in zip(times, shifts, strict=True)]
        least = min((int(cell.min()) for cell in of_cell if len(cell)), default=0)
        span = max((int(cell.max()) for cell in of_cell if len(cell)), default=0) - least + 1
        ordered, keys, owned = [], [], []
        for table, code, cell, time_us, shift in zip(tables, codes, of_cell, times, shifts, strict=True):
            key, since_us = code * span + (cell - least), self.cells.since_start_us(time_us, cell)
            is_owned = shift == 0 if part is None else (shift == 0) & part.owned(time_us)
            order = stable_order_by(key, since_us)
            ordered.append(_with(table, TIME, pa.array(since_us)).combine_chunks().take(pa.array(order)))
            keys.append(key[order])
            owned.append(is_owned[order])
        return SideRows(ordered, _dense(keys), owned)


def _area_codes(tables: Sequence[pa.Table], area: str | None) -> tuple[Sequence[pa.Table], Sequence[Int64Array]]:
    """Return tables with one list of areas for all, and the areas' numbers in it."""
    if area is None:
        return tables, [np.zeros(len(table), np.int64) for table in tables]
    together = pa.chunked_array([chunk for table in tables for chunk in table[area].chunks], tables[0][area].type)
    coded = whole(together.unify_dictionaries())
    ends = np.cumsum([0, *(len(table) for table in tables)])
    columns = [coded.slice(start, end - start) for start, end in pairwise(ends.tolist())]
    tables = [_with(table, area, column) for table, column in zip(tables, columns, strict=True)]
    return tables, [numbers(column.indices, np.int64) for column in columns]


def _dense(keys: Sequence[Int64Array]) -> list[Int64Array]:
    """Return the rank of each key among those of all sides; keys of a side never fall."""
    starts = [group_starts(key) if len(key) else np.empty(0, np.intp) for key in keys]
    known = np.unique(np.concatenate([key[start] for key, start in zip(keys, starts, strict=True)]))
    ends = [np.append(start, len(key)) for key, start in zip(keys, starts, strict=True)]
    return [
        np.repeat(np.searchsorted(known, key[start]), np.diff(end))
        for key, start, end in zip(keys, starts, ends, strict=True)
    ]
