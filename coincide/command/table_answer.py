"""An answer that is a table, in any format."""

from __future__ import annotations

from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from coincide.command.destination import Answer
from coincide.command.formats import Format
from coincide.command.text_format import CsvFormat, NdjsonFormat, TextFormat, bytes_of, concatenated, joined_cells


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
