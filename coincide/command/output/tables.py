"""An answer that is a table: text or Parquet."""

from __future__ import annotations

from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from coincide.command.input.formats import Format
from coincide.command.output.destination import Answer
from coincide.command.output.pair_columns import PairBlock, pair_columns
from coincide.command.output.text import CsvFormat, NdjsonFormat, TextFormat, bytes_of, concatenated, joined_cells


def table_answer(schema: pa.Schema, form: Format, sink: IO[bytes]) -> Answer[pa.Table]:
    """Return what writes tables of this schema, one below the other."""
    if form == "parquet":
        return ParquetTable(sink, schema)
    return TextTable(sink, schema, CsvFormat() if form == "csv" else NdjsonFormat())


class TextTable:
    """Writes rows as text."""

    def __init__(self, sink: IO[bytes], schema: pa.Schema, form: TextFormat) -> None:
        self._sink = sink
        self._form = form
        sink.write(form.header(schema.names).encode())

    def write(self, block: pa.Table) -> None:
        """Append the rows of `block`."""
        cells = joined_cells(self._form, dict(zip(block.column_names, block.columns, strict=True)))
        self._sink.write(bytes_of(concatenated(self._form.opening, cells, self._form.ending)))

    def close(self) -> None:
        """Hand over what is still held back."""
        self._sink.flush()


class ParquetTable:
    """Writes each block as a row group."""

    def __init__(self, sink: IO[bytes], schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(sink, schema)

    def write(self, block: pa.Table) -> None:
        """Append the rows of `block`."""
        self._writer.write_table(block)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


ROWS_OF_A_GROUP = 1_000_000


class ParquetAnswer:
    """Writes blocks of pairs as row groups of about a million."""

    def __init__(self, sink: IO[bytes], sides: tuple[pa.Table, pa.Table]) -> None:
        self._left, self._right = sides
        numbers = [("offset_s", pa.float64()), ("probability", pa.float64())]
        self._schema = pa.schema([*self._left.schema, *self._right.schema, *(pa.field(*each) for each in numbers)])
        self._writer = pq.ParquetWriter(sink, self._schema)
        self._held: list[pa.Table] = []

    def write(self, block: PairBlock) -> None:
        """Append the pairs of `block`."""
        left, right = self._left.take(pa.array(block.left)), self._right.take(pa.array(block.right))
        columns = [*left.columns, *right.columns, *pair_columns(block).values()]
        self._held.append(pa.Table.from_arrays(columns, schema=self._schema))
        if sum(part.num_rows for part in self._held) >= ROWS_OF_A_GROUP:
            self._write_group()

    def close(self) -> None:
        """Write what is still held back, and the footer."""
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._held:
            self._writer.write_table(pa.concat_tables(self._held))
            self._held.clear()
