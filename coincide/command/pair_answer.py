"""The answer of ``coincide join`` in any format."""

from __future__ import annotations

from typing import IO

import pyarrow as pa

from coincide.command.answer import PairBlock
from coincide.command.destination import Answer
from coincide.command.formats import Format
from coincide.command.parquet_answer import ParquetAnswer
from coincide.command.text_answer import TextAnswer
from coincide.command.text_format import CsvFormat, NdjsonFormat


def pair_answer(sides: tuple[pa.Table, pa.Table], form: Format, sink: IO[bytes]) -> Answer[PairBlock]:
    """Return what writes blocks of pairs; `sides` is what it shows of each event."""
    if form == "parquet":
        return ParquetAnswer(sink, sides)
    return TextAnswer(sink, sides, CsvFormat() if form == "csv" else NdjsonFormat())
