"""Answers as files: tables below each other, and pairs of events, as text or Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.command.input.formats import Format
from coincide.command.output.destination import AnswerFile
from coincide.command.output.text_cells import (
    CsvFormat,
    NdjsonFormat,
    TextFormat,
    bytes_of,
    cells_of,
    concatenated,
)

ROWS_OF_A_GROUP = 1_000_000
PAIR_FIELDS = (pa.field("offset_s", pa.float64()), pa.field("probability", pa.float64()))


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Some of the pairs.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n,)
        Positions among the events of either side.
    offset_s : ndarray of float64, shape (n,)
        detected_at of b minus detected_at of a.
    probability : ndarray of float64, shape (n,)
    """

    left: Int64Array
    right: Int64Array
    offset_s: FloatArray
    probability: FloatArray

    @property
    def own(self) -> pa.Table:
        """The columns that belong to a pair rather than to one of its events."""
        columns = [pa.array(self.offset_s), pa.array(self.probability)]
        return pa.Table.from_arrays(columns, schema=pa.schema(PAIR_FIELDS))


def table_answer(schema: pa.Schema, form: Format, sink: IO[bytes]) -> AnswerFile[pa.Table]:
    """Return a file that takes tables of this schema, one below the other."""
    return _ParquetTables(sink, schema) if form == "parquet" else _TextTables(sink, schema.names, _text_format(form))


def pair_answer(sides: tuple[pa.Table, pa.Table], form: Format, sink: IO[bytes]) -> AnswerFile[PairBlock]:
    """Return a file that takes blocks of pairs; `sides` is what it shows of each event."""
    return _ParquetPairs(sink, sides) if form == "parquet" else _TextPairs(sink, sides, _text_format(form))


def _text_format(form: Format) -> TextFormat:
    return CsvFormat() if form == "csv" else NdjsonFormat()


class _TextRows:
    def __init__(self, sink: IO[bytes], names: list[str], form: TextFormat) -> None:
        self._sink = sink
        self._form = form
        sink.write(form.header(names).encode())

    def write_cells(self, *cells: pa.Array) -> None:
        """Append rows whose cells, or groups of cells, stand beside each other."""
        with_commas = [part for each in cells for part in (",", each)]
        rows = concatenated(self._form.opening, *with_commas[1:], self._form.ending)
        self._sink.write(bytes_of(rows))

    def close(self) -> None:
        """Hand over what is still held back."""
        self._sink.flush()


class _TextTables(_TextRows):
    def write(self, block: pa.Table) -> None:
        """Append the rows of `block`."""
        self.write_cells(cells_of(block, self._form))


class _TextPairs(_TextRows):
    """Each event becomes text once, however many pairs it has."""

    def __init__(self, sink: IO[bytes], sides: tuple[pa.Table, pa.Table], form: TextFormat) -> None:
        left, right = sides
        super().__init__(sink, [*left.column_names, *right.column_names, *(field.name for field in PAIR_FIELDS)], form)
        self._left, self._right = (cells_of(side, form) for side in sides)

    def write(self, block: PairBlock) -> None:
        """Append the pairs of `block`."""
        left, right = self._left.take(pa.array(block.left)), self._right.take(pa.array(block.right))
        self.write_cells(left, right, cells_of(block.own, self._form))


class _ParquetTables:
    """Writes row groups of about a million."""

    def __init__(self, sink: IO[bytes], schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(sink, schema)
        self._parts: list[pa.Table] = []

    def write(self, block: pa.Table) -> None:
        """Append the rows of `block`."""
        self._parts.append(block)
        if sum(part.num_rows for part in self._parts) >= ROWS_OF_A_GROUP:
            self._write_group()

    def close(self) -> None:
        """Write what is still held back, and the footer."""
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._parts:
            self._writer.write_table(pa.concat_tables(self._parts))
            self._parts.clear()


class _ParquetPairs:
    def __init__(self, sink: IO[bytes], sides: tuple[pa.Table, pa.Table]) -> None:
        self._left, self._right = sides
        self._schema = pa.schema([*self._left.schema, *self._right.schema, *PAIR_FIELDS])
        self._tables = _ParquetTables(sink, self._schema)

    def write(self, block: PairBlock) -> None:
        """Append the pairs of `block`."""
        left, right = self._left.take(pa.array(block.left)), self._right.take(pa.array(block.right))
        columns = [*left.columns, *right.columns, *block.own.columns]
        self._tables.write(pa.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        """Write what is still held back, and the footer."""
        self._tables.close()
