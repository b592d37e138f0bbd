"""The pairs as CSV or NDJSON: each event is put into text once, however many pairs it is in."""

from __future__ import annotations

from typing import IO

import pyarrow as pa

from coincide.command.answer import PairBlock, column_names, pair_columns
from coincide.command.text_format import TextFormat, bytes_of, concatenated, joined_cells


class TextAnswer:
    """Writes blocks of pairs as text."""

    def __init__(self, sink: IO[bytes], sides: tuple[pa.Table, pa.Table], form: TextFormat) -> None:
        self._sink = sink
        self._form = form
        self._left, self._right = (
            joined_cells(form, dict(zip(side.column_names, side.columns, strict=True))) for side in sides
        )
        sink.write(form.header(column_names(sides)).encode())

    def write(self, block: PairBlock) -> None:
        """Append the pairs of `block`."""
        of_pair = joined_cells(self._form, pair_columns(block))
        left, right = self._left.take(pa.array(block.left)), self._right.take(pa.array(block.right))
        whole = concatenated(self._form.opening, left, ",", right, ",", of_pair, self._form.ending)
        self._sink.write(bytes_of(whole))

    def close(self) -> None:
        """Hand over what is still held back."""
        self._sink.flush()
