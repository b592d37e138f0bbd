"""The answer as Parquet."""

from __future__ import annotations

from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from coincide.command.answer import PairBlock, pair_columns

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
