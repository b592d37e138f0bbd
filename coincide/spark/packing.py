"""Packing: rows go through Spark's shuffle as Arrow tables in bytes, a table for each bucket of chunks that sees them.

Spark moves a few large rows instead of millions of small ones, and nobody counts rows before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from coincide.arrays.kinds import Int64Array
from coincide.arrays.order import group_starts, stable_order, stable_order_by
from coincide.chunks.time_cells import Sight, TimeCells, buckets_of, word_hashes
from coincide.spark.arrow_columns import TemplateLabels, numbers, refuse_nulls, whole
from coincide.spark.join_task import SideRows

PACKED_ROWS = 1_000_000  # so many rows of a partition are packed at once
TIME, SHIFT, TEMPLATE = "_time_us", "_shift", "_template"
PACKED = pa.schema(
    {"bucket": pa.int32(), "side": pa.int32(), "rows": pa.int64(), "packed": pa.binary()},
)
PACKED_SQL = "bucket int, side int, rows bigint, packed binary"


@dataclass(frozen=True)
class Packer:
    """Packs the rows of one side.

    Tables have the column `TIME` and those of labels; packed ones have `SHIFT` too, and `TEMPLATE` instead of labels
    of templates unless they are `kept`.
    """

    side: int
    sight: Sight
    cells: TimeCells
    buckets: int
    area: str | None
    templates: TemplateLabels
    kept: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack the rows of a partition, about a million at once."""
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(each.num_rows for each in waiting) >= PACKED_ROWS:
                yield self.packed(pa.Table.from_batches(waiting))
                waiting = []
        if any(batch.num_rows for batch in waiting):
            yield self.packed(pa.Table.from_batches(waiting))

    def packed(self, table: pa.Table) -> pa.RecordBatch:
        """Return a row for each bucket that sees some of these rows."""
        refuse_nulls(table, TIME, *([] if self.area is None else [self.area]))
        time_us = numbers(table[TIME], np.int64)
        seen = self.cells.seen(time_us, self.sight)
        cell = self.cells.number(time_us)[seen.row] + seen.shift
        table = self._coded(table)
        bucket = buckets_of(self._area_hashes(table)[seen.row], cell, self.buckets)
        order = stable_order(bucket)
        table = table.take(pa.array(seen.row[order]))
        table = table.append_column(SHIFT, pa.array(seen.shift[order].astype(np.int8)))
        bounds = np.searchsorted(bucket[order], np.arange(self.buckets + 1))
        filled = np.flatnonzero(np.diff(bounds))
        rows = np.diff(bounds)[filled]
        packed = [
            _bytes(table.slice(start, count), self.area) for start, count in zip(bounds[filled], rows, strict=True)
        ]
        side = np.full(len(filled), self.side, np.int32)
        columns = [filled.astype(np.int32), side, rows, pa.array(packed, pa.binary())]
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=PACKED)

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


def _bytes(table: pa.Table, area: str | None) -> bytes:
    """Return a table with no more words for areas than it needs, about."""
    if area is not None and len((coded := whole(table[area])).dictionary) > len(coded):
        table = _with(table, area, coded.dictionary_decode().dictionary_encode())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


Packed = Mapping[int, Sequence[pa.Table]]
"""Tables of some buckets by side."""


def buckets_together(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[Packed]:
    """Yield the tables of a partition, bucket by bucket; small buckets together until they have so many rows."""
    of_bucket: dict[int, list[tuple[int, int, pa.Scalar]]] = {}
    for batch in batches:
        of_row = zip(*(batch[name].to_pylist() for name in ("bucket", "side", "rows")), batch["packed"], strict=True)
        for bucket, *packed in of_row:
            of_bucket.setdefault(bucket, []).append(tuple(packed))
    waiting: list[tuple[int, int, pa.Scalar]] = []
    for bucket in sorted(of_bucket):
        waiting += of_bucket.pop(bucket)
        if sum(count for _, count, _ in waiting) >= rows:
            yield _unpacked(waiting)
            waiting = []
    if waiting:
        yield _unpacked(waiting)


def _unpacked(packed: Iterable[tuple[int, int, pa.Scalar]]) -> Packed:
    tables: dict[int, list[pa.Table]] = {}
    for side, _, scalar in packed:
        tables.setdefault(side, []).append(pa.ipc.open_stream(scalar.as_buffer()).read_all())
    return tables


def sides_of(packed: Packed, sides: int, area: str | None, cells: TimeCells) -> SideRows:
    """Put the rows of some buckets together, each side in the order of its chunks, then of time.

    The times in `TIME` are then counted from the beginning of each row's cell.
    """
    empty = next(iter(packed.values()))[0].slice(0, 0)
    tables, codes = _area_codes([pa.concat_tables(packed.get(side, [empty])) for side in range(sides)], area)
    shifts = [numbers(table[SHIFT], np.int64) for table in tables]
    times = [numbers(table[TIME], np.int64) for table in tables]
    of_cell = [cells.number(time_us) + shift for time_us, shift in zip(times, shifts, strict=True)]
    least = min((int(cell.min()) for cell in of_cell if len(cell)), default=0)
    span = max((int(cell.max()) for cell in of_cell if len(cell)), default=0) - least + 1
    ordered, keys, owned = [], [], []
    for table, code, cell, time_us, shift in zip(tables, codes, of_cell, times, shifts, strict=True):
        key, since_us = code * span + (cell - least), cells.since_start_us(time_us, cell)
        order = stable_order_by(key, since_us)
        ordered.append(_with(table, TIME, pa.array(since_us)).combine_chunks().take(pa.array(order)))
        keys.append(key[order])
        owned.append(shift[order] == 0)
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
